import { rowIdOf } from '../contacts/contacts.rows.ts'
import { timelinePart } from '../contacts/contacts.ts'

/** The journey runs of an address. They are looked up by journey, because no index has runs by address. */
export const timeline = timelinePart(
  'runs',
  `select e.at, e.kind, j.name || case when e.kind = 'journey.ended' then ' (' || r.status || ')' else '' end as title, r.id
   from journeys j cross join lateral (
     select id, status, entered_at, ended_at from journey_runs
     where journey_id = j.id and row_id = ${rowIdOf(':accountId', ':email')} and account_id || '' = :accountId offset 0
   ) r cross join lateral (values (r.entered_at, 'journey.entered'), (r.ended_at, 'journey.ended')) as e(at, kind)
   where j.account_id = :accountId and e.at is not null`,
)
