import { findList } from '../contacts/contacts.ts'
import { type Checked, type Fault, faultText, type Path, pathText, recordOf, shapeFaults } from '../lib/file-faults.ts'
import { Problem } from '../lib/problem.ts'
import { termNames } from '../segments/segments.ts'
import type { Work } from '../store/work.ts'
import { htmlMaxLength, ProjectFile } from './studio.blocks.ts'
import { parseCondition } from './studio.conditions.ts'

const maxBlocks = 200
const maxNesting = 10
/** The maximum length of all `html` blocks together. */
const htmlMaxLengthInAll = 200_000

interface Placed {
  block: Record<string, unknown>
  path: Path
  /** The number of blocks that contain it. */
  depth: number
  isInColumns: boolean
}

function* walkBlocks(blocks: unknown, path: Path, depth: number, isInColumns: boolean): Generator<Placed> {
  if (!Array.isArray(blocks)) return
  for (const [i, value] of blocks.entries()) {
    const block = recordOf(value)
    if (!block) continue
    const here = [...path, i]
    yield { block, path: here, depth, isInColumns }
    yield* walkBlocks(block.children, [...here, 'children'], depth + 1, isInColumns || block.type === 'columns')
  }
}

/** Returns the faults that a shape can't express: duplicate ids, nesting, number of blocks. */
const structureFaults = (placed: readonly Placed[]): Fault[] => {
  const faults: Fault[] = []
  const ids = new Map<unknown, Path>()
  for (const { block, path, depth, isInColumns } of placed) {
    const twin = block.id === undefined ? undefined : ids.get(block.id)
    if (twin) faults.push({ path: [...path, 'id'], message: `is the id of ${pathText(twin)} too` })
    else ids.set(block.id, path)
    if (depth === maxNesting) faults.push({ path, message: `is nested more than ${maxNesting} deep` })
    if (isInColumns && block.type === 'columns') faults.push({ path, message: 'must not be inside columns' })
  }
  if (placed.length > maxBlocks)
    faults.push({ path: ['blocks'], message: `must have at most ${maxBlocks} blocks in all` })
  return faults
}

/** Replaces names of lists by their ids in the forms themselves. Returns a fault for each list that was not found. */
const resolveLists = async (work: Work, placed: readonly Placed[]): Promise<Fault[]> => {
  const faults: Fault[] = []
  for (const { block, path } of placed) {
    const props = block.type === 'form' ? recordOf(block.props) : null
    if (typeof props?.listId !== 'string' || props.listId === '') continue
    try {
      props.listId = (await findList(work, props.listId)).id
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      faults.push({ path: [...path, 'props', 'listId'], message: error.message })
    }
  }
  return faults
}

/** Returns faults of `html` blocks: too much in all, and nothing that an email can show. */
const htmlFaults = async (placed: readonly Placed[]): Promise<Fault[]> => {
  const found = placed.flatMap(({ block: { type, props }, path }) => {
    const html = type === 'html' ? recordOf(props)?.html : undefined
    return typeof html === 'string' && html.length <= htmlMaxLength ? [{ html, path: [...path, 'props', 'html'] }] : []
  })
  if (found.length === 0) return []
  if (found.reduce((length, { html }) => length + html.length, 0) > htmlMaxLengthInAll)
    return [{ path: ['blocks'], message: `must have at most ${htmlMaxLengthInAll} characters of HTML in all` }]
  // Loads the sanitiser.
  const [{ isBlank }, { sanitized }] = await Promise.all([import('./studio.markup.ts'), import('./studio.sanitize.ts')])
  return found.flatMap(({ html, path }) =>
    html !== '' && isBlank(sanitized(html)) ? [{ path, message: 'has nothing that an email can show' }] : [],
  )
}

const conditionFaults = async (work: Work, placed: readonly Placed[]): Promise<Fault[]> => {
  const conditions = placed.flatMap(({ block: { showIf }, path }) =>
    typeof showIf === 'string' ? [{ showIf, path: [...path, 'showIf'] }] : [],
  )
  if (conditions.length === 0) return []
  const terms = await termNames(work)
  return conditions.flatMap(({ showIf, path }) => {
    try {
      parseCondition(showIf, terms)
      return []
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      return [{ path, message: error.message }]
    }
  })
}

/** Checks one document. Returns the project with its lists resolved, or all faults with their paths. */
export const checkProject = async (work: Work, document: unknown): Promise<Checked<ProjectFile>> => {
  const record = recordOf(document)
  if (!record) return { file: null, faults: ['a project must be an object with name and blocks'] }
  const checked = ProjectFile.safeParse(document)
  const ofShape = checked.success ? [] : shapeFaults(checked.error, 'the project')
  const file = checked.success ? checked.data : structuredClone(record)
  const placed = [...walkBlocks(file.blocks, ['blocks'], 0, false)]
  const others = [
    ...structureFaults(placed),
    ...(await resolveLists(work, placed)),
    ...(await conditionFaults(work, placed)),
    ...(await htmlFaults(placed)),
  ]
  const faults = [...ofShape, ...others.map(faultText)]
  return checked.success && faults.length === 0 ? { file: checked.data, faults: null } : { file: null, faults }
}
