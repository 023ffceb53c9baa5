import { timelinePart } from '../contacts/contacts.ts'

/** The deals of an address: created, moved between open stages, won, lost. */
export const timeline = timelinePart(
  'deals',
  `select h.at, case when h.from_stage_id is null then 'deal.created' when s.kind = 'open' then 'deal.moved'
     else 'deal.' || coalesce(s.kind, 'moved') end as kind,
     d.title || case when h.from_stage_id is not null and s.kind = 'open' then ' → ' || s.name else '' end as title, d.id
   from deals d join deal_history h on h.account_id = d.account_id and h.deal_id = d.id
   left join stages s on s.account_id = d.account_id and s.id = h.to_stage_id
   where d.account_id = :accountId and d.email = :email`,
)
