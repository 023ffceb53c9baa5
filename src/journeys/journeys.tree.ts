import { listLists } from '../contacts/contacts.ts'
import { listPipelines } from '../deals/deals.ts'
import { pathText } from '../lib/file-faults.ts'
import { typed } from '../store/column-types.ts'
import { statement } from '../store/statement.ts'
import type { AccountSql, Work } from '../store/work.ts'
import type { Definition, Step } from './definition/definition.schema.ts'
import { type Cursor, pathOf, type Side } from './definition/walk.ts'
import { stepsOf } from './files/files.ts'
import type { JourneyDetail } from './journeys.find.ts'

/** A step of a version, with the number of open runs whose next step it is. */
export interface TreeStep {
  version: number
  /** `steps[2].then[0]` */
  step: string
  id: string | null
  kind: Step['kind']
  summary: string
  runs: number
}

const countAtSteps = statement(
  'count-runs-at-steps',
  {
    row: { version: 'int4', cursor: typed<Cursor>('jsonb'), runs: 'int8' },
    parameters: { accountId: 'text', journeyId: 'text' },
  },
  `select version, cursor, count(*) as runs from journey_runs
   where account_id || '' = :accountId and journey_id = :journeyId and status in ('running', 'waiting') group by version, cursor`,
)

const readVersions = statement(
  'read-journey-versions',
  {
    row: { version: 'int4', definition: typed<Definition>('jsonb') },
    parameters: { accountId: 'text', journeyId: 'text', versions: '_int4' },
  },
  `select version, definition from journey_versions
   where account_id = :accountId and journey_id = :journeyId and version = any(:versions) order by version desc`,
)

const jsonOf = (value: unknown): string => JSON.stringify(value ?? null)

/** Returns the properties of a step that tell it from others of its kind. */
export const summaryOf = (step: Step): string => {
  switch (step.kind) {
    case 'delay':
      return step.for ?? `until ${step.until}`
    case 'wait-for':
      return [step.event, ...(typeof step.where === 'string' ? [step.where] : []), `at most ${step.timeout}`].join(', ')
    case 'branch': {
      if (!step.if) return step.where!
      const { field, ...condition } = step.if
      const asked = Object.entries(condition).flatMap(([name, value]) =>
        value === undefined ? [] : [name, jsonOf(value)],
      )
      return [field, ...asked].join(' ')
    }
    case 'split':
      return `${step.percent} % take a`
    case 'send-email':
      return step.subject ?? step.project
    case 'update-field':
      return `${step.field} = ${jsonOf(step.value)}`
    case 'add-to-list':
    case 'remove-from-list':
      return step.list
    case 'create-deal':
      return step.title
    case 'move-deal':
      return step.stage
    case 'webhook':
      return step.url
    case 'exit':
      return ''
  }
}

/**
 * Returns every step of the newest version, and of older versions that still have open runs, each with the number of open runs whose
 * next step it is: the newest version first, a step before the steps in its sides.
 */
export const treeOf = async (
  { sql, accountId }: AccountSql,
  { id, version: newest, definition }: JourneyDetail,
): Promise<TreeStep[]> => {
  const counts = await sql(countAtSteps, { accountId, journeyId: id })
  const runsAt = new Map(counts.map(({ version, cursor, runs }) => [`${version} ${pathOf(cursor)}`, runs]))
  const older = [...new Set(counts.map(({ version }) => version))].filter((version) => version !== newest)
  const replaced = older.length > 0 ? await sql(readVersions, { accountId, journeyId: id, versions: older }) : []
  return [{ version: newest, definition }, ...replaced].flatMap(({ version, definition: { steps } }) =>
    Array.from(stepsOf({ steps }), ({ step: found, path }) => {
      const [step, place] = [found as Step, pathText(path)]
      const runs = runsAt.get(`${version} ${place}`) ?? 0
      return { version, step: place, id: step.id ?? null, kind: step.kind, summary: summaryOf(step), runs }
    }),
  )
}

type Named = 'list' | 'project' | 'stage'

/** The kinds of steps whose summary may be an id. */
const namedBy: { readonly [kind in Step['kind']]?: Named } = {
  'add-to-list': 'list',
  'remove-from-list': 'list',
  'send-email': 'project',
  'move-deal': 'stage',
}

const listNamed: Record<Named, (work: Work) => Promise<{ id: string; name: string }[]>> = {
  list: listLists,
  project: async (work) => (await import('../studio/studio.ts')).listProjects(work),
  stage: async (work) => (await listPipelines(work)).flatMap(({ stages }) => stages),
}

/** Returns the names of the account's lists, projects and stages by id, of those kinds that the steps refer to. */
export const namesFor = async (work: Work, steps: readonly TreeStep[]): Promise<Map<string, string>> => {
  const names = new Map<string, string>()
  for (const kind of new Set(steps.flatMap((step) => namedBy[step.kind] ?? [])))
    for (const { id, name } of await listNamed[kind](work)) names.set(id, name)
  return names
}

const placePattern = /\.(then|else|a|b)\[\d+\]$/

/** Returns the side that a step is in, and the path of the step that has the side; null at the top. */
const parentOf = (step: string): { side: Side; parent: string } | null => {
  const [part, side] = placePattern.exec(step) ?? []
  return part ? { side: side as Side, parent: step.slice(0, -part.length) } : null
}

interface Lines {
  fork: string
  last: string
  bar: string
  gap: string
}

/** Returns a label for each step, with lines that show which steps belong to a side of which step. */
export const drawTree = (steps: readonly TreeStep[], isAscii: boolean): Map<TreeStep, string> => {
  const lines: Lines = isAscii
    ? { fork: '|- ', last: '`- ', bar: '|  ', gap: '   ' }
    : { fork: '├─ ', last: '└─ ', bar: '│  ', gap: '   ' }
  const keyOf = ({ version, step }: TreeStep) => `${version} ${parentOf(step)?.parent ?? ''}`
  const lastOf = new Map(steps.map((step) => [keyOf(step), step]))
  const stems = new Map<string, string>()
  return new Map(
    steps.map((step) => {
      const isLast = lastOf.get(keyOf(step)) === step
      const stem = stems.get(keyOf(step)) ?? ''
      stems.set(`${step.version} ${step.step}`, stem + (isLast ? lines.gap : lines.bar))
      const side = parentOf(step.step)?.side
      return [step, `${stem}${isLast ? lines.last : lines.fork}${side ? `${side}: ` : ''}${step.kind}`]
    }),
  )
}
