import { idOfCursor, type Page, pageOf } from '../../lib/cursor.ts'
import { daysBefore } from '../../lib/days.ts'
import type { PageRequest } from '../../lib/page-request.ts'
import { joinMessage, sourceOfMessage } from '../../messages/messages.ts'
import { defineJob, inBatches, type Sweep } from '../../store/background.ts'
import { type RowOf, typed } from '../../store/column-types.ts'
import { epochMs } from '../../store/epoch-ms.ts'
import { statement } from '../../store/statement.ts'
import type { App, Work } from '../../store/work.ts'
import { findProject, leavesOf, loadProject } from '../../studio/studio.ts'
import type { InteractionKind } from './interactions.record.ts'

const responseTypes = {
  id: 'text',
  kind: typed<InteractionKind>('text'),
  blockId: 'text?',
  value: typed<unknown>('jsonb'),
  email: 'text',
  messageId: 'text',
  source: typed<{ kind: string; id: string }>('json'),
  at: 'int8',
} as const

/** One interaction of a recipient; `source` is what caused its email. `at` in epoch ms. */
export type ResponseView = RowOf<typeof responseTypes>

const readResponses = statement(
  'list-responses',
  { row: responseTypes, parameters: { accountId: 'text', projectId: 'text', before: 'text?', limit: 'int8' } },
  `select i.id, i.kind, nullif(i.block_id, '') as "blockId", i.value, i.email, i.message_id as "messageId",
     ${sourceOfMessage} as source,
     ${epochMs('i.at')} as at
   from interactions i ${joinMessage('i')}
   where i.account_id = :accountId and i.project_id = :projectId and (:before::text is null or i.id < :before) and not i.is_bot
   order by i.id desc limit :limit`,
)

/**
 * Returns a page of the interactions with the emails of a project (id or name), newest first, without those of machines. Throws
 * Problem `not_found`, and `invalid` for a bad cursor.
 */
export const listResponses = async (
  work: Work,
  ref: string,
  { limit, cursor }: PageRequest,
): Promise<Page<ResponseView>> => {
  const { id } = await findProject(work, ref)
  const before = idOfCursor('int', cursor)
  const rows = await work.sql(readResponses, { accountId: work.accountId, projectId: id, before, limit: limit + 1 })
  return pageOf(rows, limit)
}

/** The number of answers of each value to a vote, rating or quiz, in the order of the options. */
export interface BlockSummary {
  blockId: string
  kind: 'vote' | 'rating' | 'quiz'
  question: string
  total: number
  answers: { value: string | number; count: number; correct?: boolean }[]
}

export interface ProjectSummary {
  counts: Partial<Record<InteractionKind, number>>
  blocks: BlockSummary[]
}

/** The question of each block, and the labels of its fields by their names. */
export type Labels = Map<string, { question: string | null; fields: Record<string, string> }>

/** Returns the labels of the blocks in a project's newest version. Throws Problem `not_found`. */
export const labelsOf = async (work: Work, ref: string): Promise<Labels> => {
  const { content } = await loadProject(work, ref)
  return new Map(
    leavesOf(content.blocks).map(({ id, props }) => [
      id,
      {
        question: 'question' in props ? props.question : null,
        fields: 'fields' in props ? Object.fromEntries(props.fields.map(({ name, label }) => [name, label])) : {},
      },
    ]),
  )
}

const countAnswers = statement(
  'count-answers',
  {
    row: {
      kind: typed<InteractionKind>('text'),
      blockId: 'text',
      value: typed<string | number | null>('jsonb'),
      count: 'int8',
    },
    parameters: { accountId: 'text', projectId: 'text' },
  },
  `select kind, block_id as "blockId", case when kind in ('vote', 'rating', 'quiz') then value end as value, count(*) as count
   from interactions where account_id = :accountId and project_id = :projectId and not is_bot group by 1, 2, 3 order by count(*) desc`,
)

const optionsOf = (block: ReturnType<typeof leavesOf>[number]): (string | number)[] => {
  if (block.type === 'vote' || block.type === 'quiz') return block.props.options
  return block.type === 'rating' ? Array.from({ length: block.props.max }, (_, i) => i + 1) : []
}

/** Counts the answers to a project. Values that the newest version does not offer come last. Throws Problem `not_found`. */
export const summarizeResponses = async (work: Work, ref: string): Promise<ProjectSummary> => {
  const { id, content } = await loadProject(work, ref)
  const rows = await work.sql(countAnswers, { accountId: work.accountId, projectId: id })
  const counts: ProjectSummary['counts'] = {}
  for (const { kind, count } of rows) counts[kind] = (counts[kind] ?? 0) + count
  const blocks = leavesOf(content.blocks).flatMap((block): BlockSummary[] => {
    const { id: blockId, type: kind } = block
    if (kind !== 'vote' && kind !== 'rating' && kind !== 'quiz') return []
    const given = rows.filter((row) => row.blockId === blockId && row.kind === kind)
    const options = optionsOf(block)
    const values = [
      ...options,
      ...given.flatMap(({ value }) => (value !== null && !options.includes(value) ? [value] : [])),
    ]
    return [
      {
        blockId,
        kind,
        question: block.props.question,
        total: given.reduce((sum, { count }) => sum + count, 0),
        answers: values.map((value, i) => ({
          value,
          count: given.find((row) => row.value === value)?.count ?? 0,
          ...(kind === 'quiz' && { correct: i === block.props.correct }),
        })),
      },
    ]
  })
  return { counts, blocks }
}

// Only forms contain free text: all other answers are options, numbers, times and amounts.
const dropOldTexts = statement(
  'drop-old-texts',
  { row: { id: 'text' }, parameters: { before: 'timestamptz', batchSize: 'int8', only: 'text?' } },
  `with old as materialized (
     select ctid as row from interactions where kind = 'form' and value is not null and at < :before
       and (:only::text is null or account_id = :only) order by at limit :batchSize
     for update skip locked
   )
   update interactions i set value = null from old where i.ctid = old.row returning i.id`,
)

/**
 * Drops the texts of form answers older than `before`; the answers themselves stay. Works in batches with pauses, until none is left
 * or `signal` is aborted. Returns the number of answers whose text was dropped.
 */
export const dropTexts = (
  { sql }: Pick<App, 'sql'>,
  before: Date,
  { signal, batchSize = 500, only = null }: Sweep = {},
): Promise<number> =>
  inBatches(batchSize, async () => (await sql(dropOldTexts, { before, batchSize, only })).length, signal)

export const jobs = [
  defineJob('response texts', {
    does: 'Deletes texts of form answers after SVC_RESPONSE_RETENTION_DAYS',
    async runFor(app, sweep) {
      const { responseRetentionDays } = app.config
      if (responseRetentionDays === 0) return
      await dropTexts(app, daysBefore(app.now(), responseRetentionDays), sweep)
    },
  }),
]
