import { type CommandList, command, group } from '../cli/define.ts'
import { argument, changing, confirmed, needed, repeated, text, unasked } from '../cli/flags.ts'
import { type Column, type Output, properties } from '../cli/output.ts'
import { shown as echoed, Problem } from '../lib/problem.ts'
import { number, quantity } from '../lib/quantity.ts'
import type { PipelineView, StageView } from './deals.ts'

const kinds = async () => (await import('./deals.shapes.ts')).stageKinds

const stagesText = (stages: readonly StageView[]) =>
  stages.map(({ name, kind }) => (kind === 'open' ? name : `${name} (${kind})`)).join(', ')

const pipelineColumns: Column<PipelineView>[] = [
  ...properties<PipelineView>('id', 'name'),
  ['DEFAULT', (pipeline) => (pipeline.isDefault ? 'yes' : 'no')],
  ['STAGES', (pipeline) => stagesText(pipeline.stages)],
]

const stageColumns = properties<StageView & { pipeline: string }>('id', 'name', 'kind', 'pipeline')

const shown = (out: Output, pipeline: PipelineView) =>
  out.one(pipeline, { ...pipeline, stages: stagesText(pipeline.stages) })

const kindOf = async (text: string) => {
  const { StageKind, stageKinds } = await import('./deals.ts')
  const kind = StageKind.safeParse(text)
  if (!kind.success)
    throw new Problem('usage', `A stage's kind is one of ${stageKinds.join(', ')}, not ${echoed(text)}`)
  return kind.data
}

/** Parses `Lead:open`; without a kind the stage is open. */
const stageOf = async (given: string) => {
  const colon = given.lastIndexOf(':')
  if (colon < 0) return { name: given, kind: 'open' as const }
  return { name: given.slice(0, colon), kind: await kindOf(given.slice(colon + 1)) }
}

const stage = argument('<stage>', 'id, or an unambiguous name')
const ofPipeline = text('<id|name>', 'the pipeline to search for the stage')

/** The commands `svc pipelines`. */
export const commands: CommandList = [
  command({
    path: 'pipelines list',
    isDefault: true,
    summary: 'List the pipelines with their stages, the default pipeline first',
    examples: ['svc pipelines', 'svc pipelines list --json'],
    run: async ({ out, work }) => {
      const { listPipelines } = await import('./deals.ts')
      await out.list('pipelines', await work(listPipelines), pipelineColumns)
    },
  }),

  command({
    path: 'pipelines create',
    summary: 'Create a pipeline (default stages: New, Qualified, Proposal, Won, Lost)',
    examples: [
      'svc pipelines create --name Renewals',
      'svc pipelines create --name Hiring --stage Applied:open --stage Hired:won --stage Rejected:lost',
    ],
    flags: {
      name: needed('<name>', 'its name, unique in the account'),
      stage: repeated('<name:kind>', 'a stage in board order, such as Lead:open; kind is open, won or lost', {
        noun: null,
      }),
    },
    run: async ({ out, work }, flags) => {
      const { createPipeline } = await import('./deals.ts')
      const stages = await Promise.all(flags.stage.map(stageOf))
      shown(out, await work((w) => createPipeline(w, { name: flags.name, ...(stages.length > 0 && { stages }) })))
    },
  }),

  command({
    path: 'pipelines default',
    summary: 'Make a pipeline the default for new deals',
    examples: ['svc pipelines default Renewals', 'svc pipelines default Renewals --dry-run'],
    arguments: [argument('<pipeline>', 'id or name')],
    flags: changing(),
    run: async ({ out, work }, ref) => {
      const { setDefaultPipeline } = await import('./deals.ts')
      shown(out, await work((w) => setDefaultPipeline(w, ref)))
    },
  }),

  group({ path: 'pipelines stages', summary: 'The stages of a pipeline' }),

  command({
    path: 'pipelines stages list',
    isDefault: true,
    summary: 'List stages in board order',
    examples: ['svc pipelines stages', 'svc pipelines stages list Sales --json'],
    arguments: [argument('[pipeline]', 'id or name (default: every pipeline)')],
    run: async ({ out, work }, ref) => {
      const { findPipeline, listPipelines } = await import('./deals.ts')
      const pipelines = await work(async (w) => (ref === undefined ? listPipelines(w) : [await findPipeline(w, ref)]))
      const stages = pipelines.flatMap(({ name, stages }) => stages.map((stage) => ({ ...stage, pipeline: name })))
      await out.list('stages', stages, stageColumns)
    },
  }),

  command({
    path: 'pipelines stages add',
    summary: 'Add a stage at the end of a pipeline',
    examples: [
      'svc pipelines stages add Sales --name Demo --kind open',
      'svc pipelines stages add Sales --name Ghosted --kind lost --json',
    ],
    arguments: [argument('<pipeline>', 'id or name')],
    flags: {
      name: needed('<name>', 'its name, unique in the pipeline'),
      kind: text('<kind>', 'open, won or lost', {
        default: 'open',
        of: kinds,
      }),
      ...changing(),
    },
    run: async ({ out, work }, ref, flags) => {
      const { addStage } = await import('./deals.ts')
      const kind = await kindOf(flags.kind)
      shown(out, await work((w) => addStage(w, ref, { name: flags.name, kind })))
    },
  }),

  command({
    path: 'pipelines stages reorder',
    summary: 'Reorder stages; stages that are not named keep their order at the end',
    examples: [
      'svc pipelines stages reorder Sales New Demo Proposal',
      'svc pipelines stages reorder Sales Qualified New --dry-run',
    ],
    arguments: [
      argument('<pipeline>', 'id or name'),
      argument('<stages...>', 'ids or names, first one first', { noun: 'stages' }),
    ],
    flags: changing(),
    run: async ({ out, work }, ref, stages) => {
      const { reorderStages } = await import('./deals.ts')
      shown(out, await work((w) => reorderStages(w, ref, stages)))
    },
  }),

  command({
    path: 'pipelines stages rename',
    summary: 'Rename a stage',
    examples: [
      'svc pipelines stages rename Proposal Offer',
      'svc pipelines stages rename Proposal Offer --pipeline Sales',
    ],
    arguments: [stage, argument('<name>')],
    flags: { pipeline: ofPipeline, ...changing() },
    run: async ({ out, work }, ref, name, flags) => {
      const { findStage, renameStage } = await import('./deals.ts')
      shown(out, await work(async (w) => renameStage(w, await findStage(w, ref, flags.pipeline), name)))
    },
  }),

  command({
    path: 'pipelines stages set-kind',
    summary: 'Change a stage’s kind, and with it the status of its deals; no event fires',
    examples: [
      'svc pipelines stages set-kind Ghosted lost',
      'svc pipelines stages set-kind Ghosted lost --pipeline Sales --dry-run',
    ],
    arguments: [stage, argument('<kind>', 'open, won or lost', { of: kinds })],
    flags: {
      pipeline: ofPipeline,
      ...unasked('count the deals whose status would change'),
    },
    run: async ({ out, work, confirm }, ref, given, flags) => {
      const { countDeals, findStage, setStageKind } = await import('./deals.ts')
      const kind = await kindOf(given)
      if (flags.dryRun) {
        const { id, name, kind: before } = await work((w) => findStage(w, ref, flags.pipeline))
        const deals = before === kind ? 0 : await work((w) => countDeals(w, id))
        await confirm(`make ${quantity(deals, 'deal')} in ${name} ${kind}; no event fires`, flags, {
          id,
          name,
          kind,
          deals,
        })
        return
      }
      const changed = await work(async (w) => setStageKind(w, await findStage(w, ref, flags.pipeline), kind))
      shown(out, changed.pipeline)
      out.note(`${quantity(changed.deals, 'deal is', 'deals are')} ${kind} now.`)
    },
  }),

  command({
    path: 'pipelines stages delete',
    summary: 'Delete a stage; its deals move to another stage, each with an event',
    examples: [
      'svc pipelines stages delete Demo --move-deals-to Proposal --yes',
      'svc pipelines stages delete Demo --pipeline Sales --dry-run',
    ],
    arguments: [stage],
    flags: {
      pipeline: ofPipeline,
      moveDealsTo: text('<stage>', 'the stage of the same pipeline that gets its deals: id or name'),
      ...confirmed('show what would change'),
    },
    run: async ({ out, trial, work, confirm }, ref, flags) => {
      const { countDeals, deleteStage, findStage } = await import('./deals.ts')
      const stage = await work((w) => findStage(w, ref, flags.pipeline))
      const deals = await work((w) => countDeals(w, stage.id))
      if (deals > 0 && flags.moveDealsTo === undefined) {
        throw new Problem('usage', `${stage.name} has ${quantity(deals, 'deal')}: --move-deals-to says where they go`)
      }
      const given = flags.moveDealsTo
      const to = given === undefined ? null : await work((w) => findStage(w, given, stage.pipeline.id))
      // What is refused is refused before the question, and with --dry-run.
      await trial((w) => deleteStage(w, stage, to))
      const moves =
        deals > 0 ? ` and move ${quantity(deals, 'deal')} to ${to!.name} (${number(deals)} deal.stage_changed)` : ''
      const { id, name, pipeline } = stage
      const planned = { id, name, moved: deals, events: { 'deal.stage_changed': deals } }
      if (!(await confirm(`delete the stage ${name} of ${pipeline.name}${moves}`, flags, planned))) return
      const { moved } = await work((w) => deleteStage(w, stage, to))
      out.one({ id, name, moved })
    },
  }),
]
