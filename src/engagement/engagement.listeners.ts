import {
  eraseEvents,
  hasProjectTargets,
  insertEvents,
  joinEventsAt,
  listProjectTargets,
} from '../deliveries/deliveries.ts'
import type { EventData } from '../events/shapes.ts'
import { statement } from '../store/statement.ts'
import type { Listener, Work } from '../store/work.ts'
import { stateKey } from '../store/work-state.ts'
import { lockScore } from './engagement.score.ts'
import { withReactions } from './interactions/reactions.ts'

// Imports no zod shapes and no entities: every process loads its listeners at the start.

const targets = stateKey(listProjectTargets)

/** Delivers interactions to the webhooks of their projects. */
export const deliverToProjects: Listener = {
  events: {
    receivers: `array(select 'projects' where :type = 'interaction.received' and ${hasProjectTargets})`,
    async receive(work, events) {
      for (const event of events) {
        const { project } = event.data as EventData<'interaction.received'>
        const receivers = (await work.state(targets)).filter(({ projectId }) => projectId === project.id)
        await insertEvents(
          work,
          [event],
          receivers.map(({ id }) => id),
        )
      }
    },
  },
}

const countMachines = statement(
  'count-machine-actions',
  { row: { opens: 'int8', clicks: 'int8' }, parameters: { accountId: 'text', messageId: 'text' } },
  `select count(*) filter (where kind = 'open') as opens, count(*) filter (where kind = 'click') as clicks
   from interactions where account_id = :accountId and message_id = :messageId and is_bot`,
)

/** Returns what recipients did with emails, and counts what machines did. */
export const reportActions: Listener = {
  withReactions,
  machineActionsOn: async ({ sql, accountId }, messageId) => (await sql(countMachines, { accountId, messageId }))[0]!,
}

const findUnnamed = statement(
  'find-unnamed-form-answers',
  { row: { id: 'text' }, parameters: { accountId: 'text', email: 'text' } },
  `select e.id from interactions i ${joinEventsAt('i')} and e.type = 'form.submitted'
     and strpos(e.payload, '"form":{"id":' || to_json(i.block_id)::text || ',') > 0 and strpos(e.payload, '"contact":null') > 0
   where i.account_id = :accountId and i.email = :email and i.kind = 'form'`,
)

/**
 * Returns the `form.submitted` events of an address that was in no list at the time. They name no contact, so they are matched by
 * the time in their ids (an answer and its event share it) and by their form.
 */
const unnamedAnswers = async ({ sql, accountId }: Work, email: string): Promise<string[]> =>
  (await sql(findUnnamed, { accountId, email })).map(({ id }) => id)

const lockInteractions = statement(
  'lock-interactions-to-erase',
  { parameters: { accountId: 'text', email: 'text' } },
  'select from interactions where account_id = :accountId and email = :email order by id for update',
)

const eraseInteractions = statement(
  'erase-interactions',
  { parameters: { accountId: 'text', email: 'text' } },
  `update interactions set email = '', value = case when kind = 'form' then 'null'::jsonb else value end
   where account_id = :accountId and email = :email`,
)

const deleteScore = statement(
  'delete-lead-score',
  { parameters: { accountId: 'text', email: 'text' } },
  'delete from lead_scores where account_id = :accountId and email = :email',
)

/** Interactions of an erased address stay counted; the address and texts of forms are removed. */
export const forgetInteractions: Listener = {
  async contactsRemoved(work, { listId, email }) {
    const { sql, accountId } = work
    if (listId !== undefined || email === undefined) return
    // Waits for interactions that are being recorded: they lock the score last.
    await sql(lockInteractions, { accountId, email })
    await lockScore(work, email)
    await eraseEvents(work, await unnamedAnswers(work, email))
    await sql(eraseInteractions, { accountId, email })
    await sql(deleteScore, { accountId, email })
  },
}
