import type { Fields } from './contacts.fields.ts'
import type { ContactRow } from './contacts.view.ts'

/*
 * The statement behind every write of contacts into a list: one round trip, set-based, exact under concurrency.
 *
 * $1 account, $2 list, $3 the writes as JSON (distinct addresses), $4 now, $5 whether contacts that are there stay as they are.
 *
 * Its rules: identical data writes no heap at all. Rows are locked in the order of their addresses; the counters come
 * last. A known address that joins the list is share-locked, so that it can't be deleted with its last list meanwhile.
 * A write that met a concurrent insert of the same address or contact, which this statement's snapshot can't see, gives
 * no row: run the statement again for those.
 */

const changes = `
  with input as materialized (
    select x.*, case when takes then x.status else held_status end as verdict,
      case when takes then x.reasons else held_reasons end as verdict_reasons,
      case when takes then $4 else verified_at end as checked_at
    from (
      select i.*, a.row_id as known_row_id, a.verification_status as held_status, a.verification_reasons as held_reasons,
        a.verified_at, a.email is null as fresh, c.email is not null as present, c.fields as held,
        i.status is not null and (a.verification_status is null or not i.weak
          and ((a.verification_status, a.verification_reasons) is distinct from (i.status, i.reasons)
            or a.verified_at < $4::timestamptz - interval '24 hours')) as takes
      from jsonb_to_recordset($3::jsonb)
        as i(place int, email text, fields jsonb, row_id text, domain text, status text, reasons text[], weak boolean)
      left join addresses a on a.account_id = $1 and a.email = i.email
      left join contacts c on c.account_id = $1 and c.email = a.email and c.list_id = $2
    ) x
  ), fresh as (
    select email, fields, row_id, domain, status, reasons, row_number() over (order by place) as nth
    from input where fresh
  ), room as (
    select p.contacts - a.contact_count as places from accounts a join plans p on p.name = a.plan
    where a.id = $1 and p.contacts is not null and exists (select from fresh) for no key update of a
  ), added as (
    insert into addresses (account_id, email, row_id, domain, verification_status, verification_reasons, verified_at)
    select $1, email, row_id, domain, status, reasons, case when status is not null then $4::timestamptz end
    from fresh where nth <= coalesce((select places from room), 2147483647) order by email
    on conflict (account_id, email) do nothing returning email, row_id
  ), joining as (
    select i.email, i.fields, a.row_id from input i join addresses a on a.account_id = $1 and a.email = i.email
    where not i.fresh and not i.present order by i.email for key share of a
  ), inserted as (
    insert into contacts (account_id, email, list_id, row_id, fields, status, created_at, updated_at)
    select $1, m.email, $2, m.row_id, m.fields, 'active', $4, $4
    from (
      select n.email, f.fields, n.row_id from added n join fresh f on f.email = n.email
      union all select email, fields, row_id from joining
    ) m order by m.email
    on conflict (account_id, email, list_id) do nothing returning email, row_id
  ), changing as (
    select c.email, c.fields as previous, i.fields from input i
      join contacts c on c.account_id = $1 and c.email = i.email and c.list_id = $2
    where i.present and not $5 and not i.held @> i.fields and not c.fields @> i.fields
    order by c.email for no key update of c
  ), updated as (
    update contacts c set fields = c.fields || x.fields, updated_at = $4 from changing x
    where c.account_id = $1 and c.email = x.email and c.list_id = $2
    returning c.email, c.row_id, c.fields, x.previous, c.status, c.created_at
  ), verified as (
    update addresses a set verification_status = i.status, verification_reasons = i.reasons, verified_at = $4
    from (select email, status, reasons from input where takes and not fresh order by email) i
    where a.account_id = $1 and a.email = i.email
  ), counted as (
    update accounts set contact_count = contact_count + n.rows from (select count(*)::int as rows from added) n
    where id = $1 and n.rows > 0
  ), tallied as (
    update contact_lists set row_count = row_count + n.rows, updated_at = $4
    from (select count(*)::int as rows from inserted) n
    where id = $2 and account_id = $1 and n.rows > 0
  )`

/** `kind`: what became of each address; `present` is overruled by `created` or `updated`. */
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
  union all select 'present', email${columns} from input where present
  union all select 'refused', email${columns} from fresh where nth > coalesce((select places from room), 2147483647)`

/** Gives `BareRow`s. */
export const bareStatement = `${changes}
  select 'created' as kind, email from inserted union all select 'updated', email from updated ${others('')}`

/** Gives `FullRow`s. */
export const fullStatement = `${changes}
  select 'created' as kind, n.email, n.row_id as "rowId", i.fields, null::jsonb as previous, 'active' as status,
    $4::timestamptz as "createdAt", i.verdict, i.verdict_reasons as reasons, i.checked_at as "checkedAt"
  from inserted n join input i on i.email = n.email
  union all select 'updated', u.email, u.row_id, u.fields, u.previous, u.status, u.created_at, i.verdict, i.verdict_reasons,
    i.checked_at
  from updated u join input i on i.email = u.email ${others(', null, null, null, null, null, null, null, null')}`
