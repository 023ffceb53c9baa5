import type { TriggerData } from '../lib/merge-data.ts'
import { typed } from '../store/column-types.ts'
import { epochMs } from '../store/epoch-ms.ts'
import { statement } from '../store/statement.ts'
import type { Listener, PersonalDataPart } from '../store/work.ts'

const readActivities = statement(
  'activities-of-email',
  {
    row: { id: 'text', name: 'text', data: typed<TriggerData | null>('jsonb'), at: 'int8' },
    parameters: { accountId: 'text', email: 'text' },
  },
  `select id, name, data, ${epochMs('at')} as at from activities
   where account_id = :accountId and email = :email order by id`,
)

/** The events that programs reported about an address. */
export const personalData: PersonalDataPart = {
  name: 'reportedEvents',
  read: async ({ sql, accountId }, email) =>
    (await sql(readActivities, { accountId, email })).map(({ data, ...event }) => ({
      ...event,
      ...(data && { data }),
    })),
}

const deleteActivities = statement(
  'delete-activities-of-email',
  { parameters: { accountId: 'text', email: 'text' } },
  'delete from activities where account_id = :accountId and email = :email',
)

/** Deletes the events of an erased address. Their idempotency keys stay: they hold no personal data. */
export const forgetActivities: Listener = {
  async contactsRemoved({ sql, accountId }, { listId, email }) {
    if (listId === undefined && email !== undefined) await sql(deleteActivities, { accountId, email })
  },
}
