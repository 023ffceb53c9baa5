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
import {
  causeOf,
  countActions,
  joinMessage,
  type MessageKey,
  type RecipientAction,
  recountPerson,
  tallyingMachines,
} from '../../messages/messages.ts'
import { opaqueArray } from '../../store/arrays.ts'
import { typed, typedRow } from '../../store/column-types.ts'
import { isSharedFailure } from '../../store/database.ts'
import { preparedStatement, statement } from '../../store/statement.ts'
import { utcDay } from '../../store/tallies.ts'
import type { App, Work } from '../../store/work.ts'
import type { Interaction } from '../engagement.entities.ts'
import { addToScore, holdScore } from '../engagement.score.ts'
import type { SentMail } from '../engagement.sent.ts'

export type InteractionKind = Interaction['kind']

export interface NewInteraction {
  kind: InteractionKind
  /** null: the interaction concerns the whole email. */
  blockId: string | null
  value: InteractionValue
  /** The number of the clicked link, and its URL as the author wrote it. */
  link?: number
  written?: string | undefined
  isBot?: boolean
  /** How a different answer to the same block is handled: `replace` (fires again), `keep` (the first stays), `move` (replaces without an event). */
  onOther?: 'replace' | 'keep' | 'move'
}

type Scalar = string | number | boolean | null
export type InteractionValue = Scalar | Record<string, Scalar>

/** `same`: nothing was written. */
export type Recorded = 'first' | 'changed' | 'same'

const before = `(select i.at from interactions i where i.account_id = $1 and i.message_id = $2 and i.kind = $3 and i.block_id = $4
  and i.link = $5 and i.is_bot = $6)`

/** SQL expression: the metric of the results in which an interaction of this kind counts. */
const metricOf = (of: string) => `case ${of} when 'open' then 'opened' when 'click' then 'clicked' else 'answered' end`

const record = (name: string, onConflict: string, changedAt: string) =>
  preparedStatement<{ isNew: boolean; before: Date | null }>(
    name,
    { isNew: 'bool', before: 'timestamptz' },
    `with recorded as (
       insert into interactions (account_id, message_id, kind, block_id, link, is_bot, id, project_id, email, value, at)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
       on conflict (account_id, message_id, kind, block_id, link, is_bot) ${onConflict}
       returning account_id, project_id, email, at, kind, is_bot, xmax = 0 as "isNew", ${changedAt} as before
     ), counted as (
       ${countActions({
         from: 'recorded',
         cause: '$12::text',
         metric: metricOf('kind'),
         url: '$13::text',
         where: '"isNew" and not is_bot',
       })}
     ), machines as (
       ${tallyingMachines('recorded', '$12::text', '"isNew" and is_bot')}
     ) select "isNew", before from recorded`,
  )

const recordOnce = record('record-interaction-once', 'do nothing', 'null::timestamptz')

const recordLatest = record(
  'record-interaction-latest',
  `do update set id = excluded.id, value = excluded.value, at = excluded.at, changes = interactions.changes + 1
   where interactions.value is distinct from excluded.value and (interactions.changes < $14::int or $14::int is null)`,
  before,
)

/** How often a recipient can change an answer. Each change fires an event, with its webhooks. */
const maxChanges = 20

const isOther = preparedStatement<{ isOther: boolean }>(
  'is-other-answer',
  { isOther: 'bool' },
  `select value is distinct from $5::jsonb as "isOther" from interactions
   where account_id = $1 and message_id = $2 and kind = $3 and block_id = $4 and not is_bot`,
)

const upsert = async (
  { sql, accountId, now }: Work,
  sent: SentMail,
  id: string,
  { kind, blockId, value, link, written, isBot = false, onOther = 'replace' }: NewInteraction,
): Promise<{ recorded: Recorded; before: Date | null }> => {
  const isKept = onOther === 'keep'
  const [row] = await sql(isKept ? recordOnce : recordLatest, [
    accountId,
    sent.id,
    kind,
    blockId ?? '',
    link === undefined ? '' : String(link),
    isBot,
    id,
    sent.projectId,
    sent.email,
    JSON.stringify(value),
    now,
    sent.cause,
    written ?? null,
    // A moved booking has limits of its own.
    ...(isKept ? [] : [onOther === 'replace' ? maxChanges : null]),
  ])
  if (!row) {
    const key = [accountId, sent.id, kind, blockId ?? '', JSON.stringify(value)]
    if (onOther === 'replace' && kind !== 'click' && (await sql(isOther, key))[0]?.isOther)
      throw conflict("This answer can't be changed any more")
    return { recorded: 'same', before: null }
  }
  return { recorded: row.isNew ? 'first' : 'changed', before: row.before }
}

const readActions = statement(
  'actions-of-address',
  {
    row: typedRow<RecipientAction>({ day: 'text', projectId: 'text', cause: 'text', kind: 'text' }),
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
    await holdScore(work, email)
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
  const { kind, blockId, value, isBot = false, onOther } = interaction
  const at = work.now.getTime()
  const id = newId('int', at)
  const { recorded, before } = await upsert(work, sent, id, interaction)
  // A changed answer counts on the day of the change.
  const isOfToday = before !== null && dateOf(before.getTime()) === dateOf(at)
  if (recorded === 'changed' && !isBot && !isOfToday) recount(work, sent.email, scopesOf(sent))
  if (recorded === 'same' || isBot || (recorded === 'changed' && onOther === 'move')) return recorded
  const { email, rowId, source, projectId, content } = sent
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
