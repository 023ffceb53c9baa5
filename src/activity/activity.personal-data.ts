import type { TriggerData } from '../lib/merge-data.ts'
import { statement } from '../store/statement.ts'
import type { Listener, PersonalDataPart } from '../store/work.ts'

const readActivities = statement<{ id: string; name: string; data: TriggerData | null; at: number }>(
  'activities-of-email',
  { id: 'text', name: 'text', data: 'jsonb', at: 'int8' },
  `select id, name, data, (extract(epoch from at) * 1000)::int8 as at from activities
   where account_id = $1 and email = $2 order by id`,
)

/** The events that programs reported about an address. */
export const personalData: PersonalDataPart = {
  name: 'reportedEvents',
  read: async ({ sql, accountId }, email) =>
    (await sql(readActivities, [accountId, email])).map(({ data, ...event }) => ({ ...event, ...(data && { data }) })),
}

const deleteActivities = statement(
  'delete-activities-of-email',
  {},
  'delete from activities where account_id = $1 and email = $2',
)

/** Deletes the events of an erased address. Their idempotency keys stay: they hold no personal data. */
export const forgetActivities: Listener = {
  async contactsRemoved({ sql, accountId }, { listId, email }) {
    if (listId === undefined && email !== undefined) await sql(deleteActivities, [accountId, email])
  },
}
