import { z } from 'zod'
import { findList } from '../contacts/contacts.ts'
import { newId } from '../lib/ids.ts'
import { conflict, shown } from '../lib/problem.ts'
import { quantity } from '../lib/quantity.ts'
import { notBlank, text } from '../lib/text.ts'
import { isDuplicate } from '../store/database.ts'
import { statement } from '../store/statement.ts'
import type { Work } from '../store/work.ts'
import { compileFilter } from './segments.compile.ts'
import { findSegment, type SegmentView } from './segments.find.ts'

/** Describes a filter. */
export const filterText = 'The filter, such as `plan = pro and opened < 30d`'

const Name = text(200)
  .trim()
  .min(1, 'must not be empty')
  .meta({ pattern: notBlank, description: 'Name of the segment, 1 to 200 characters, unique in the account' })

export const NewSegment = z.object({
  name: Name,
  /** The id or the name of a list. */
  list: text(200),
  /** The filter, which `compileFilter` checks. */
  where: z.string(),
})

const entitiesOf = (work: Work) => work.em(import('./segments.entities.ts'))

/**
 * Creates a segment. Throws Problem `not_found` for the list, `invalid` for a mistake in the filter, `conflict` if the name is taken. The
 * unit of work can continue after a conflict.
 */
export const createSegment = async (work: Work, input: z.output<typeof NewSegment>): Promise<SegmentView> => {
  const { accountId, now } = work
  const { name } = input
  const { id: listId } = await findList(work, input.list)
  const { names: filterNames } = await compileFilter(work, input.where, listId)
  const id = newId('seg', now.getTime())
  const [em, { Segment }] = await entitiesOf(work)
  const segment = await em.upsert(
    Segment,
    { id, accountId, name, listId, filter: input.where, filterNames, createdAt: now },
    { onConflictFields: ['accountId', 'name'], onConflictAction: 'ignore' },
  )
  if (segment.id !== id) throw conflict(`There is already a segment named ${shown(name)}`)
  return { id, name, listId, where: input.where, createdAt: now.getTime() }
}

const lockToChange = statement(
  'lock-segment',
  { parameters: { accountId: 'text', id: 'text' } },
  'select from segments where account_id = :accountId and id = :id for update',
)

const keepUsed = statement(
  'keep-used-segments',
  { parameters: { accountId: 'text', segments: '_text' } },
  'select from segments where account_id = :accountId and id = any(:segments) order by id for share',
)

export const SegmentChange = z.object({
  name: Name.optional(),
  where: z.string().optional().describe(filterText),
})

/**
 * Changes the name or the filter of a segment (id or name). Whatever uses the segment uses the new filter from then on.
 * Throws Problem `not_found`, `invalid` for a mistake in the filter, `conflict` if the name is taken.
 */
export const updateSegment = async (
  work: Work,
  ref: string,
  change: z.output<typeof SegmentChange>,
): Promise<SegmentView> => {
  const found = await findSegment(work, ref)
  await work.sql(lockToChange, { accountId: work.accountId, id: found.id })
  const segment = await findSegment(work, found.id)
  const { name = segment.name, where = segment.where } = change
  const within = { segments: [segment.id], counted: { comparisons: 0 } }
  const compiled = change.where === undefined ? null : await compileFilter(work, where, segment.listId, null, within)
  // Of two concurrent changes that put segments into each other, one runs again after the other, and is refused.
  if (compiled) await work.sql(keepUsed, { accountId: work.accountId, segments: compiled.segments })
  const [em, { Segment }] = await entitiesOf(work)
  const changed = { name, ...(compiled && { filter: where, filterNames: compiled.names }) }
  await em.nativeUpdate(Segment, { id: segment.id }, changed).catch((error) => {
    throw isDuplicate(error) ? conflict(`There is already a segment named ${shown(name)}`) : error
  })
  return { ...segment, name, where }
}

/** Deletes a segment (id or name) and returns it. Throws Problem `not_found`, `conflict` while a broadcast will use it. */
export const deleteSegment = async (work: Work, ref: string): Promise<SegmentView> => {
  const found = await findSegment(work, ref)
  await work.sql(lockToChange, { accountId: work.accountId, id: found.id })
  const segment = await findSegment(work, found.id)
  for (const listener of await work.listeners()) {
    const { broadcasts = 0 } = (await listener.segmentUses?.(work, segment.id)) ?? {}
    if (broadcasts > 0)
      throw conflict(`${quantity(broadcasts, 'unsent broadcast')} will use the segment ${shown(segment.name)}`, {
        hint: 'svc broadcasts list',
      })
  }
  const [em, { Segment }] = await entitiesOf(work)
  await em.nativeDelete(Segment, { id: segment.id })
  return segment
}
