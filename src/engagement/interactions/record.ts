import { emit } from '../../events/emit.ts'
import { coalesceCalls } from '../../lib/coalesce.ts'
import { newId } from '../../lib/ids.ts'
import type { MessageKey } from '../../messages/messages.ts'
import { opaqueArray } from '../../store/arrays.ts'
import { isSharedFailure } from '../../store/database.ts'
import { preparedStatement, statement } from '../../store/statement.ts'
import type { App, Work } from '../../store/work.ts'
import type { Interaction } from '../engagement.entities.ts'
import type { SentMail } from '../engagement.sent.ts'
import { addToScore } from './score.ts'

export type InteractionKind = Interaction['kind']

export interface NewInteraction {
  kind: InteractionKind
  /** null: the interaction concerns the whole email. */
  blockId: string | null
  value: InteractionValue
  /** The number of the clicked link. */
  link?: number
  isBot?: boolean
  /** How a different answer to the same block is handled: `replace` (fires again), `keep` (the first stays), `move` (replaces without an event). */
  onOther?: 'replace' | 'keep' | 'move'
}

type Scalar = string | number | boolean | null
export type InteractionValue = Scalar | Record<string, Scalar>

/** `same`: nothing was written. */
export type Recorded = 'first' | 'changed' | 'same'

const record = (name: string, onConflict: string) =>
  preparedStatement<{ isNew: boolean }>(
    name,
    { isNew: 'bool' },
    `insert into interactions (account_id, message_id, kind, block_id, link, is_bot, id, project_id, email, value, at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
     on conflict (account_id, message_id, kind, block_id, link, is_bot) ${onConflict}
     returning xmax = 0 as "isNew"`,
  )

const recordOnce = record('record-interaction-once', 'do nothing')

const recordLatest = record(
  'record-interaction-latest',
  `do update set id = excluded.id, value = excluded.value, at = excluded.at
   where interactions.value is distinct from excluded.value`,
)

const upsert = async (
  { sql, accountId, now }: Work,
  sent: SentMail,
  id: string,
  { kind, blockId, value, link, isBot = false, onOther = 'replace' }: NewInteraction,
): Promise<Recorded> => {
  const [row] = await sql(onOther === 'keep' ? recordOnce : recordLatest, [
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
  ])
  if (!row) return 'same'
  return row.isNew ? 'first' : 'changed'
}

/**
 * Records an interaction, fires `interaction.received` and adds to the lead score, unless it is a repeat
 * (docs/reference/studio.md#answers). Interactions of machines are stored, but neither fire nor score. A changed answer fires again
 * but scores once. Locks the score: call it late in the unit of work.
 */
export const recordInteraction = async (work: Work, sent: SentMail, interaction: NewInteraction): Promise<Recorded> => {
  const { kind, blockId, value, isBot = false, onOther } = interaction
  const at = work.now.getTime()
  const id = newId('int', at)
  const recorded = await upsert(work, sent, id, interaction)
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
  {},
  'delete from interactions where account_id = $1 and message_id = $2 and kind = $3 and block_id = $4 and not is_bot',
)

/** Deletes an answer, so that its block can be answered again. */
export const withdrawInteraction = async (
  { sql, accountId }: Work,
  messageId: string,
  kind: InteractionKind,
  blockId: string,
): Promise<void> => {
  await sql(deleteAnswer, [accountId, messageId, kind, blockId])
}

/** The recipient's answers in an email, by block id. `answeredAt` in epoch ms. */
export type AnswerState = Record<string, { kind: InteractionKind; value: unknown; answeredAt: number }>

const maxCallsPerStatement = 64

const findAnswers = preparedStatement<{
  place: number
  blockId: string
  kind: InteractionKind
  value: unknown
  at: Date
}>(
  'answer-states',
  { place: 'int4', blockId: 'text', kind: 'text', value: 'jsonb', at: 'timestamptz' },
  `select k.place::int, i.*
   from unnest(${opaqueArray('$1')}, $2::text[]) with ordinality as k(account, id, place)
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
    const rows = await sql(findAnswers, [mails.map(({ accountId }) => accountId), mails.map(({ id }) => id)])
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
