import type { Fields } from './contacts.fields.ts'
import type { ContactRow } from './contacts.view.ts'

/*
 * The statement behind every write of contacts into a list: one round trip, set-based, exact under concurrency.
 *
 * $1 account, $2 list, $3 the writes as JSON (distinct addresses), $4 now, $5 whether contacts that are there stay as they are,
 * $6 the status of those that are added.
 *
 * Its rules. Identical data writes no heap at all. Rows are locked in the order of their addresses; the counters come
 * last. The list is share-locked by who adds to it, so that it can't be deleted meanwhile. A known address that joins the list is share-locked, so that it can't be deleted with its last list meanwhile.
 * A write that met a concurrent change, which the statement's snapshot can't see, gives no row: run the statement again
 * for it.
 *
 * Rows are looked up by `lateral` subqueries, and not by `list_id`, so that the only possible plan is one probe of the
 * primary key for each: a planner that believes the account or the list to be empty would scan them whole for each row.
 */

const changes = `
  with input as materialized (
    select x.*, case when takes then x.status else held_status end as verdict,
      case when takes then x.reasons else held_reasons end as verdict_reasons,
      case when takes then $4 else verified_at end as checked_at
    from (
      select i.*, a.*, c.*, a.address is null as is_fresh, c.held is not null as is_present,
        c.held is not null and not $5 and not c.held @> i.fields as is_changing,
        i.status is not null and (a.held_status is null or i.weak is not true
          and ((a.held_status, a.held_reasons) is distinct from (i.status, i.reasons)
            or a.verified_at < $4::timestamptz - interval '24 hours')) as takes
      from jsonb_to_recordset($3::jsonb)
        as i(place int, email text, fields jsonb, row_id text, domain text, status text, reasons text[], weak boolean)
      left join lateral (
        select ctid as address, verification_status as held_status, verification_reasons as held_reasons, verified_at
        from addresses where account_id = $1 and email = i.email limit 1
      ) a on true
      left join lateral (
        select fields as held from contacts
        where a.address is not null and account_id = $1 and email = i.email and list_id || '' = $2 limit 1
      ) c on true
    ) x
  ), fresh as (
    select email, fields, row_id, domain, status, reasons, row_number() over (order by place) as nth
    from input where is_fresh
  ), room as (
    select p.contacts - a.contact_count as places from accounts a join plans p on p.name = a.plan
    where a.id = $1 and p.contacts is not null and exists (select from fresh) for no key update of a
  ), added as (
    insert into addresses (account_id, email, row_id, domain, verification_status, verification_reasons, verified_at)
    select $1, email, row_id, domain, status, reasons, case when status is not null then $4::timestamptz end
    from fresh where nth <= coalesce((select places from room), 2147483647) order by email
    on conflict (account_id, email) do nothing returning email, row_id
  ), joining as (
    select i.email, i.fields, a.row_id
    from (select email, fields from input where not is_fresh and not is_present order by email) i
    cross join lateral (
      select row_id from addresses where account_id = $1 and email = i.email for key share
    ) a
  ), standing as (
    select id from contact_lists
    where account_id = $1 and id = $2 and exists (select from input where not is_present) for key share
  ), inserted as (
    insert into contacts (account_id, email, list_id, row_id, fields, status, created_at, updated_at)
    select $1, m.email, standing.id, m.row_id, m.fields, $6::text, $4, $4
    from standing, (
      select n.email, f.fields, n.row_id from added n join fresh f on f.email = n.email
      union all select email, fields, row_id from joining
    ) m order by m.email
    on conflict (account_id, email, list_id) do nothing returning email, row_id
  ), changing as (
    select c.contact, c.previous, i.fields
    from (select email, fields from input where is_changing order by email) i
    cross join lateral (
      select ctid as contact, fields as previous from contacts
      where account_id = $1 and email = i.email and list_id || '' = $2 and not fields @> i.fields for no key update
    ) c
  ), updated as (
    update contacts c set fields = x.previous || x.fields, updated_at = $4 from changing x where c.ctid = x.contact
    returning c.email, c.row_id, c.fields, x.previous, c.status, c.created_at
  ), verified as (
    update addresses a set verification_status = i.status, verification_reasons = i.reasons, verified_at = $4
    from (select address, status, reasons from input where takes and not is_fresh order by email) i
    where a.ctid = i.address
  ), counted as (
    update accounts set contact_count = contact_count + n.rows from (select count(*)::int as rows from added) n
    where id = $1 and n.rows > 0
  ), tallied as (
    update contact_lists set row_count = row_count + n.rows, updated_at = $4
    from (select count(*)::int as rows from inserted) n
    where id = $2 and account_id = $1 and n.rows > 0
  )`

/** What became of each address. `present`: it is in the list, and nothing changed. `refused`: the plan has no room. */
export type Kind = 'created' | 'updated' | 'present' | 'refused'

export interface BareRow {
  kind: Kind
  email: string
}

/** With what events need: the contact after the write and its fields before. All null unless created or updated. */
export interface FullRow
  extends BareRow,
    Omit<ContactRow, 'email' | 'listId' | 'listName' | 'listFields' | 'updatedAt'> {
  /** null for a new contact. */
  previous: Fields | null
}

const others = (columns: string) => `
  union all select 'present', email${columns} from input where is_present and not is_changing
  union all select 'refused', email${columns} from fresh where nth > coalesce((select places from room), 2147483647)`

/** Gives `BareRow`s. */
export const bareStatement = `${changes}
  select 'created' as kind, email from inserted union all select 'updated', email from updated ${others('')}`

/** Gives `FullRow`s. */
export const fullStatement = `${changes}
  select 'created' as kind, n.email, n.row_id as "rowId", i.fields, null::jsonb as previous, $6::text as status,
    $4::timestamptz as "createdAt", i.verdict, i.verdict_reasons as reasons, i.checked_at as "checkedAt"
  from inserted n join input i on i.email = n.email
  union all select 'updated', u.email, u.row_id, u.fields, u.previous, u.status, u.created_at, i.verdict, i.verdict_reasons,
    i.checked_at
  from updated u join input i on i.email = u.email ${others(', null, null, null, null, null, null, null, null')}`
