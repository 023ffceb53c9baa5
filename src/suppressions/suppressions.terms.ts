import type { Term } from '../segments/segments.ts'
import { suppressionReasons } from './suppressions.add.ts'
import { findTopic } from './topics.find.ts'

/** Why an address gets no marketing. */
export const terms: readonly Term[] = [
  {
    name: 'suppression',
    kind: 'text',
    values: suppressionReasons,
    // Of all marketing: an address that left some topics is not suppressed.
    rows: ({ account }) => ({
      from: 'suppressions s',
      where: `s.account_id = ${account} and s.topic_id = ''`,
      email: 's.email',
      value: 's.reason',
    }),
  },
]

/** The topics that an address has not left. */
export const termsOfTopics: readonly Term[] = [
  {
    name: 'topic',
    kind: 'name',
    find: async (work, ref) => [(await findTopic(work, ref)).id],
    // What an address has left: few addresses leave something.
    rows: ({ account }) => ({
      from: `suppressions s join topics t on t.account_id = s.account_id and s.topic_id in ('', t.id)`,
      where: `s.account_id = ${account} and s.reason = 'unsubscribed' and t.deleted_at is null`,
      email: 's.email',
      value: 't.id',
    }),
    countAll: ({ account }) => `select count(*) from topics where account_id = ${account} and deleted_at is null`,
  },
]
