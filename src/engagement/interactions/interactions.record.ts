/*
 * What counts once is a row with a key. Opens, clicks and answers arrive repeatedly. An interaction is a row in
 * `interactions` whose key says what counts once. A repeat is a conflict on it, a changed answer an update of it.
 * Earlier answers are not kept; the events about them remain.
 */

import { emit } from '../../events/emit.ts'
import { coalesceCalls } from '../../lib/coalesce.ts'
import { dateOf } from '../../lib/days.ts'
import { newId } from '../../lib/ids.ts'
import { conflict } from '../../lib/problem.ts'
import { causeOf, joinMessage, type MessageKey } from '../../messages/messages.ts'
import { countActions } from '../../results/results.rows.ts'
import { recipientAction, recountPerson, tallyingMachines } from '../../results/results.ts'
import { opaqueArray } from '../../store/arrays.ts'
import { typed } from '../../store/column-types.ts'
import { isSharedFailure } from '../../store/database.ts'
import { preparedStatement, statement } from '../../store/statement.ts'
import { columns, types } from '../../store/tables.ts'
import { utcDay } from '../../store/tallies.ts'
import type { App, Work } from '../../store/work.ts'
import { interactions } from '../engagement.columns.ts'
import type { Interaction } from '../engagement.entities.ts'
import { addToScore, lockExistingScore } from '../engagement.score.ts'
import type { SentMail } from '../engagement.sent.ts'

export type InteractionKind = Interaction['kind']

export interface NewInteraction {
  kind: InteractionKind
  /** It is null if the interaction concerns the whole email. */
  blockId: string | null
  value: InteractionValue
  /** The number of the clicked link, and its URL as the author wrote it. */
  link?: number
  written?: string | undefined
  isBot?: boolean
  /** How a different answer to the same block is handled: `replace` (fires again), `keep` (the first stays), `move` (replaces without an event). */
  onOther?: 'replace' | 'keep' | 'move'
  /** Does what comes before the event of a first answer, such as adding a contact. Returns the row id of the recipient, or null. */
  onFirst?: () => Promise<string | null>
}

type Scalar = string | number | boolean | null
export type InteractionValue = Scalar | Record<string, Scalar>

/** The result of recording an interaction. With `same` nothing was written. */
export type Recorded = 'first' | 'changed' | 'same'

/** Returns the SQL expression of the metric of the results in which an interaction of this kind counts. */
const metricOf = (of: string) => `case ${of} when 'open' then 'opened' when 'click' then 'clicked' else 'answered' end`

/** What counts once. */
const keyColumns = columns(interactions, ['accountId', 'messageId', 'kind', 'blockId', 'link', 'isBot'])
const newColumns = columns(interactions, [
  'accountId',
  'messageId',
  'kind',
  'blockId',
  'link',
  'isBot',
  'id',
  'projectId',
  'email',
  'value',
  'at',
])

const row = { isNew: 'bool', before: 'timestamptz?' } as const
const parameters = { ...newColumns.types, value: typed<string>('jsonb'), cause: 'text?', written: 'text?' } as const

const recording = (onConflict: string, changedAt: string) =>
  `with recorded as (
       insert into interactions (${newColumns.names}) values (${newColumns.values})
       on conflict (${keyColumns.names}) ${onConflict}
       returning account_id, project_id, email, at, kind, is_bot, xmax = 0 as "isNew", ${changedAt} as before
     ), counted as (
       ${countActions({
         from: 'recorded',
         cause: ':cause::text',
         metric: metricOf('kind'),
         url: ':written::text',
         where: '"isNew" and not is_bot',
       })}
     ), machines as (
       ${tallyingMachines('recorded', ':cause::text', '"isNew" and is_bot')}
     ) select "isNew", before from recorded`

const recordOnce = preparedStatement(
  'record-interaction-once',
  { row, parameters },
  recording('do nothing', 'null::timestamptz'),
)

const recordLatest = preparedStatement(
  'record-interaction-latest',
  { row, parameters: { ...parameters, maxChanges: 'int4?' } },
  recording(
    `do update set id = excluded.id, value = excluded.value, at = excluded.at, changes = interactions.changes + 1
     where interactions.value is distinct from excluded.value
       and (interactions.changes < :maxChanges::int or :maxChanges::int is null)`,
    `(select i.at from interactions i where i.account_id = :accountId and i.message_id = :messageId and i.kind = :kind
      and i.block_id = :blockId and i.link = :link and i.is_bot = :isBot)`,
  ),
)

/** How often a recipient can change an answer. Each change fires an event, with its webhooks. */
const maxChanges = 20

const isOther = preparedStatement(
  'is-other-answer',
  {
    row: { isOther: 'bool' },
    parameters: { ...types(interactions, 'accountId', 'messageId', 'kind', 'blockId'), value: typed<string>('jsonb') },
  },
  `select value is distinct from :value::jsonb as "isOther" from interactions
   where account_id = :accountId and message_id = :messageId and kind = :kind and block_id = :blockId and not is_bot`,
)

const upsert = async (
  { sql, accountId, now }: Work,
  sent: SentMail,
  id: string,
  { kind, blockId, value, link, written, isBot = false, onOther = 'replace' }: NewInteraction,
): Promise<{ recorded: Recorded; before: Date | null }> => {
  const answer = { accountId, messageId: sent.id, kind, blockId: blockId ?? '', value: JSON.stringify(value) }
  const recorded = {
    ...answer,
    link: link === undefined ? '' : String(link),
    isBot,
    id,
    projectId: sent.projectId,
    email: sent.email,
    at: now,
    cause: sent.cause,
    written: written ?? null,
  }
  const [row] =
    onOther === 'keep'
      ? await sql(recordOnce, recorded)
      : // A moved booking has limits of its own.
        await sql(recordLatest, { ...recorded, maxChanges: onOther === 'replace' ? maxChanges : null })
  if (!row) {
    if (onOther === 'replace' && kind !== 'click' && (await sql(isOther, answer))[0]?.isOther)
      throw conflict("This answer can't be changed any more")
    return { recorded: 'same', before: null }
  }
  return { recorded: row.isNew ? 'first' : 'changed', before: row.before }
}

const readActions = statement(
  'actions-of-address',
  {
    row: recipientAction,
    parameters: { accountId: 'text', email: 'text' },
  },
  `select distinct ${utcDay('i.at')}::text as day, i.project_id as "projectId", ${causeOf('m')} as cause,
     ${metricOf('i.kind')} as kind
   from interactions i ${joinMessage('i')} where i.account_id = :accountId and i.email = :email and not i.is_bot`,
)

/** Counts a person again in the results, before the commit: other locks come before that of the score. */
const recount = (work: Work, email: string, scopes: readonly string[]): void => {
  if (email === '') return
  work.last(async () => {
    await lockExistingScore(work, email)
    await recountPerson(work, email, scopes, () => work.sql(readActions, { accountId: work.accountId, email }))
  })
}

const scopesOf = ({ projectId, cause }: Pick<SentMail, 'projectId'> & { cause: string | null }): string[] => [
  projectId,
  ...(cause === null ? [] : [cause]),
]

/**
 * Records an interaction, fires `interaction.received` and adds to the lead score, unless it is a repeat
 * (docs/reference/studio.md#answers). Interactions of machines are stored, but neither fire nor score. A changed answer fires again
 * but scores once. Locks the score: call it late in the unit of work.
 */
export const recordInteraction = async (work: Work, sent: SentMail, interaction: NewInteraction): Promise<Recorded> => {
  const { kind, blockId, value, isBot = false, onOther, onFirst } = interaction
  const at = work.now.getTime()
  const id = newId('int', at)
  const { recorded, before } = await upsert(work, sent, id, interaction)
  // A changed answer counts on the day of the change.
  const isOfToday = before !== null && dateOf(before.getTime()) === dateOf(at)
  if (recorded === 'changed' && !isBot && !isOfToday) recount(work, sent.email, scopesOf(sent))
  if (recorded === 'same' || isBot || (recorded === 'changed' && onOther === 'move')) return recorded
  const { email, source, projectId, content } = sent
  const rowId = onFirst && recorded === 'first' ? await onFirst() : sent.rowId
  await emit(work, 'interaction.received', () => [
    {
      interaction: { id, kind, blockId, value, at },
      project: { id: projectId, name: content.name },
      recipient: { email, rowId },
      source,
    },
  ])
  if (recorded === 'first') await addToScore(work, email, kind)
  return recorded
}

const deleteAnswer = statement(
  'delete-answer',
  {
    row: { email: 'text', projectId: 'text', cause: 'text?' },
    parameters: { accountId: 'text', messageId: 'text', kind: 'text', blockId: 'text' },
  },
  `with gone as (
     delete from interactions where account_id = :accountId and message_id = :messageId and kind = :kind and block_id = :blockId and not is_bot
     returning account_id, message_id, email, project_id
   ) select gone.email, gone.project_id as "projectId", ${causeOf('m')} as cause from gone ${joinMessage('gone')}`,
)

/** Deletes an answer, so that its block can be answered again. The person has not answered then, unless in another way. */
export const withdrawInteraction = async (
  work: Work,
  messageId: string,
  kind: InteractionKind,
  blockId: string,
): Promise<void> => {
  const [gone] = await work.sql(deleteAnswer, { accountId: work.accountId, messageId, kind, blockId })
  if (gone) recount(work, gone.email, scopesOf(gone))
}

/** The recipient's answers in an email, by block id. `answeredAt` in epoch ms. */
export type AnswerState = Record<string, { kind: InteractionKind; value: unknown; answeredAt: number }>

const maxCallsPerStatement = 64

const findAnswers = preparedStatement(
  'answer-states',
  {
    row: {
      place: 'int4',
      blockId: 'text',
      kind: typed<InteractionKind>('text'),
      value: typed<unknown>('jsonb'),
      at: 'timestamptz',
    },
    parameters: { accountIds: '_text', ids: '_text' },
  },
  `select k.place::int, i.*
   from unnest(${opaqueArray(':accountIds')}, :ids::text[]) with ordinality as k(account, id, place)
   cross join lateral (
     select block_id as "blockId", kind, value, at
     from interactions
     where account_id = k.account and message_id = k.id and kind <> all('{open,click}') and not is_bot
     order by at, id
   ) i`,
)

const readStates = coalesceCalls(
  maxCallsPerStatement,
  async ({ sql }: Pick<Work, 'sql'>, mails: readonly MessageKey[]): Promise<AnswerState[]> => {
    const rows = await sql(findAnswers, {
      accountIds: mails.map(({ accountId }) => accountId),
      ids: mails.map(({ id }) => id),
    })
    const states = mails.map((): [string, AnswerState[string]][] => [])
    for (const { place, blockId, kind, value, at } of rows)
      states[place - 1]!.push([blockId, { kind, value, answeredAt: at.getTime() }])
    return states.map((state) => Object.fromEntries(state))
  },
  { isShared: isSharedFailure },
)

/** Returns the answers in an email. Calls that arrive while a statement is under way share the next one. */
export const readState = ({ sql, database }: Pick<App, 'sql' | 'database'>, mail: MessageKey): Promise<AnswerState> =>
  readStates({ sql }, database, '', mail)
