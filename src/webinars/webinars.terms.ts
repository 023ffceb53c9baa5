import type { Term } from '../segments/segments.ts'
import { findWebinar } from './sessions/sessions.find.ts'

/** The webinars in which an address has a seat, or waits for one. */
export const terms: readonly Term[] = [
  {
    name: 'webinar',
    kind: 'name',
    find: async (work, ref) => [(await findWebinar(work, ref)).id],
    rows: ({ account }) => ({
      from: 'webinar_registrations r',
      where: `r.account_id = ${account} and r.status <> 'cancelled'`,
      email: 'r.email',
      value: 'r.webinar_id',
    }),
  },
]
