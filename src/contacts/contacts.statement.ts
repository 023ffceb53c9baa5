import type { Fields } from './contacts.fields.ts'
import type { Finding } from './contacts.findings.ts'
import type { Verdict } from './contacts.verdict.ts'

/*
 * The statements behind every write of contacts into a list, each set-based. What they share: $1 the account, $2 the list
 * (but `changing`), addresses in their order.
 *
 * Their order is that of the locks: known addresses, contacts that change, new addresses, contacts that come, and counters at
 * the end of the unit of work (contacts.count.ts); within each the order of the addresses. Whoever removes contacts locks
 * their addresses first, too. So nobody waits in a circle.
 *
 * Identical data writes no heap at all. What is new is inserted plainly: that it is there meanwhile is a conflict, on which the
 * unit of work runs again and finds it.
 *
 * Rows are looked up by `lateral` subqueries: the address by its key, then its contact by its row and list. Each is a probe of one
 * row; in a join a planner that believes the account or the list to be empty would read them whole.
 */

/** A held verdict, where it is not `valid`, or older than a day (`true`), by the place of its address. */
export type HeldVerdict = readonly [
  place: number,
  status: Verdict['status'] | null,
  reasons: string[] | null,
  old: boolean,
]

/**
 * `kinds`: a letter for each address, in their order: `n` new to the account, `k` known in it, `m` a member of the list, `s` one
 * whose fields say the same. `findings`: what mail has shown of some of them (contacts.findings.ts).
 */
export interface Probed {
  kinds: string
  verdicts: HeldVerdict[] | null
  findings: Record<string, Finding[]> | null
}

/** The fields of writes as one text, which costs less than an array, or one document: JSON has no line breaks. */
export const joinFields = (texts: readonly string[]): string => texts.join('\n')

// Only the fields of members are read as JSON.
/** $3 addresses, $4 their fields (`joinFields`), $5 now. One `Probed`. Locks nothing. */
export const probing = `
  select string_agg(
      case when a.row_id is null then 'n' when c.held is null then 'k' when c.held @> i.fields::jsonb then 's' else 'm' end,
      '' order by i.place
    ) as kinds,
    json_agg(json_build_array(i.place - 1, a.status, a.reasons, a.is_old))
      filter (where a.row_id is not null and (a.status is distinct from 'valid' or a.is_old)) as verdicts,
    (
      select json_object_agg(f.email, f.findings) from (
        select email, array_agg(finding) as findings from address_findings
        where account_id = $1 and email = any($3) group by email
      ) f
    ) as findings
  from unnest($3::text[], string_to_array($4, E'\n')) with ordinality as i(email, fields, place)
  left join lateral (
    select row_id, verification_status as status, verification_reasons as reasons,
      verified_at < $5::timestamptz - interval '24 hours' as is_old
    from addresses where account_id = $1 and email = i.email limit 1
  ) a on true
  left join lateral (
    select fields as held from contacts
    where account_id = $1 and row_id = a.row_id and list_id = $2 limit 1
  ) c on true`

export interface LockedAddress {
  email: string
  rowId: string
}

const lockingKnown = (strength: string) => `
  select i.email, a.row_id as "rowId" from unnest($2::text[]) as i(email)
  cross join lateral (select row_id from addresses where account_id = $1 and email = i.email for ${strength}) a`

/** $2 addresses. Holds them against those who remove them. Gives `LockedAddress`es. */
export const sharingKnown = lockingKnown('key share')
/** The same for who changes their verdicts. */
export const lockingVerdicts = lockingKnown('no key update')

export interface NewVerdict extends Verdict {
  email: string
}

/** $2 `NewVerdict`s of locked addresses as JSON, $3 now. */
export const writingVerdicts = `
  update addresses a set verification_status = x.status, verification_reasons = x.reasons, verified_at = $3
  from (
    select held.address, i.status, i.reasons from jsonb_to_recordset($2::jsonb) as i(email text, status text, reasons text[])
    cross join lateral (select ctid as address from addresses where account_id = $1 and email = i.email limit 1) held
  ) x
  where a.ctid = x.address`

export interface Change {
  email: string
  fields: Fields
}

export interface Changing {
  email: string
  rowId: string
  previous: Fields
}

// Locked by one statement and written by the next, which sees what others had written until then.
/** $3 `Change`s of members as JSON. Locks those that differ, and gives `Changing` for each. */
export const lockingChanged = `
  select i.email, a.row_id as "rowId", held.previous from jsonb_to_recordset($3::jsonb) as i(email text, fields jsonb)
  cross join lateral (select row_id from addresses where account_id = $1 and email = i.email limit 1) a
  cross join lateral (
    select fields as previous from contacts
    where account_id = $1 and row_id = a.row_id and list_id = $2 and not fields @> i.fields for no key update
  ) held`

/** New fields of contacts that are locked. */
export interface LockedChange {
  listId: string
  rowId: string
  fields: Fields
}

/** $2 now, $3 `LockedChange`s as JSON. */
export const changing = `
  update contacts c set fields = c.fields || x.fields, updated_at = $2
  from (
    select held.contact, i.fields from jsonb_to_recordset($3::jsonb) as i("listId" text, "rowId" text, fields jsonb)
    cross join lateral (
      select ctid as contact from contacts where account_id = $1 and row_id = i."rowId" and list_id = i."listId" limit 1
    ) held
  ) x
  where c.ctid = x.contact`

export interface Addition {
  email: string
  rowId: string
  fields: Fields
}

/** $3 `Addition`s of known addresses as JSON, $4 now, $5 their status. */
export const joining = `
  insert into contacts (account_id, email, list_id, row_id, fields, status, created_at, updated_at)
  select $1, email, $2, "rowId", fields, $5, $4, $4
  from jsonb_to_recordset($3::jsonb) as i(email text, "rowId" text, fields jsonb)`

// The main statement runs before the one in `with`: all addresses, then all contacts.
/**
 * What is new to the account: $3 addresses, $4 row ids, $5 domains, $6 statuses of verdicts (null: `valid`; `none`), $7 their
 * reasons, each as one text with spaces (null: none; both arrays may be shorter than the others), $8 fields (`joinFields`), $9 now,
 * $10 the status of the contacts.
 */
export const adding = `
  with new as materialized (
    select * from unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[], string_to_array($8, E'\n'))
      as i(email, row_id, domain, status, reasons, fields)
  ), member as (
    insert into contacts (account_id, email, list_id, row_id, fields, status, created_at, updated_at)
    select $1, email, $2, row_id, fields::jsonb, $10, $9, $9 from new
  )
  insert into addresses (account_id, email, row_id, domain, verification_status, verification_reasons, verified_at)
  select $1, email, row_id, domain, v.status, case when v.status is not null then string_to_array(coalesce(reasons, ''), ' ') end,
    case when v.status is not null then $9::timestamptz end
  from new cross join lateral (select nullif(coalesce(new.status, 'valid'), 'none') as status) v`
