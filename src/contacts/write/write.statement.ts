import { opaqueArray } from '../../store/arrays.ts'
import { preparedStatement } from '../../store/statement.ts'
import type { Fields } from '../contacts.fields.ts'
import type { AddressSignal, VerificationResult } from '../verification/verification.ts'

/*
 * The set-based statements of every write of contacts into a list. Unless a statement says otherwise, $1 is the account, $2 the
 * list, and addresses are sorted.
 *
 * The order of the statements is the lock order: known addresses, changed contacts, new addresses, new contacts, and counters at
 * the end of the unit of work (contacts/write/write.count.ts); within each the order of the addresses. Removals lock the addresses first,
 * too. So these transactions can't deadlock.
 *
 * Identical data writes nothing to the table. New rows are inserted without `on conflict`: a duplicate is a conflict, and the unit of
 * work runs again and finds the row.
 *
 * Rows are looked up by `lateral` subqueries: the address by its key, then its contact by row id and list, one row each. In a plain
 * join, a planner that believes the account or the list to be empty would scan it.
 */

/** A stored result that is not `valid`, or is older than a day (`old`), with the position of its address. */
export type StoredResult = readonly [
  place: number,
  status: VerificationResult['status'] | null,
  reasons: string[] | null,
  old: boolean,
]

/**
 * `kinds`: a letter for each address, in order: `n` new to the account, `k` known to the account, `m` in the list with other fields, `s`
 * in the list with the same fields. `findings`: signals of addresses (contacts/verification/signals.ts).
 */
export interface Probed {
  kinds: string
  verifications: StoredResult[] | null
  findings: Record<string, AddressSignal[]> | null
}

/** Joins fields, each as JSON, to one text with line breaks, which serialised JSON never contains. Cheaper than an array or one document. */
export const joinFields = (texts: readonly string[]): string => texts.join('\n')

// Fields are parsed as JSON only for addresses that are in the list.
const kind = `
  case
    when a.row_id is null then 'n'
    when c.held is null then 'k'
    when c.held @> i.fields::jsonb then 's'
    else 'm'
  end`

const storedResults = `
  json_agg(json_build_array(i.place - 1, a.status, a.reasons, a.is_old))
    filter (where a.row_id is not null and (a.status is distinct from 'valid' or a.is_old))`

const signals = `
  select json_object_agg(f.email, f.findings) from (
    select email, array_agg(finding) as findings
    from address_findings
    where account_id = $1 and email = any(${opaqueArray('$3')}::text[])
    group by email
  ) f`

const addressOf = `
  select row_id, verification_status as status, verification_reasons as reasons,
    verified_at < $5::timestamptz - interval '24 hours' as is_old
  from addresses
  where account_id = $1 and email = i.email
  limit 1`

const contactOf = `
  select fields as held
  from contacts
  where account_id = $1 and row_id = a.row_id and list_id = $2
  limit 1`

/** $3 addresses, $4 their fields (`joinFields`), $5 now. Returns one `Probed`. Locks nothing. */
export const probeContacts = preparedStatement<Probed>(
  'probe-contacts',
  { kinds: 'text', verifications: 'json', findings: 'json' },
  `
  select string_agg(${kind}, '' order by i.place) as kinds,
    ${storedResults} as verifications,
    (${signals}) as findings
  from unnest(${opaqueArray('$3')}, string_to_array($4, E'\n')) with ordinality as i(email, fields, place)
  left join lateral (${addressOf}) a on true
  left join lateral (${contactOf}) c on true`,
)

const lockingKnown = (name: string, strength: string) =>
  preparedStatement<{ email: string; rowId: string }>(
    name,
    { email: 'text', rowId: 'text' },
    `
  select i.email, a.row_id as "rowId" from unnest($2::text[]) as i(email)
  cross join lateral (select row_id from addresses where account_id = $1 and email = i.email for ${strength}) a`,
  )

/** $2 addresses. Share-locks them against removal. */
export const sharingKnown = lockingKnown('share-known-addresses', 'key share')
/** As `sharingKnown`, with the lock for an update of their verification results. */
export const lockingForResults = lockingKnown('lock-verifications', 'no key update')

/** $2 the results of locked addresses as JSON, each with its `email`, $3 now. */
export const writeVerifications = preparedStatement(
  'write-verifications',
  {},
  `
  update addresses a set verification_status = x.status, verification_reasons = x.reasons, verified_at = $3
  from (
    select held.address, i.status, i.reasons from jsonb_to_recordset($2::jsonb) as i(email text, status text, reasons text[])
    cross join lateral (select ctid as address from addresses where account_id = $1 and email = i.email limit 1) held
  ) x
  where a.ctid = x.address`,
)

// Locked by this statement and written by the next one, whose snapshot sees earlier commits of other transactions.
/** $3 `email` and new `fields` of contacts in the list, as JSON. Locks the contacts that differ, and returns their fields so far. */
export const lockingChanged = preparedStatement<{ email: string; rowId: string; previous: Fields }>(
  'lock-changed',
  { email: 'text', rowId: 'text', previous: 'jsonb' },
  `
  select i.email, a.row_id as "rowId", held.previous from jsonb_to_recordset($3::jsonb) as i(email text, fields jsonb)
  cross join lateral (select row_id from addresses where account_id = $1 and email = i.email limit 1) a
  cross join lateral (
    select fields as previous from contacts
    where account_id = $1 and row_id = a.row_id and list_id = $2 and not fields @> i.fields for no key update
  ) held`,
)

/** New fields of a locked contact. */
export interface LockedChange {
  listId: string
  rowId: string
  fields: Fields
}

/** $2 now, $3 `LockedChange`s as JSON. */
export const changeContacts = preparedStatement(
  'change-contacts',
  {},
  `
  update contacts c set fields = c.fields || x.fields, updated_at = $2
  from (
    select held.contact, i.fields from jsonb_to_recordset($3::jsonb) as i("listId" text, "rowId" text, fields jsonb)
    cross join lateral (
      select ctid as contact from contacts where account_id = $1 and row_id = i."rowId" and list_id = i."listId" limit 1
    ) held
  ) x
  where c.ctid = x.contact`,
)

/** $3 `email`, `rowId`, `fields` and `status` of the new contacts of known addresses as JSON, $4 now. */
export const joinContacts = preparedStatement(
  'join-contacts',
  {},
  `
  insert into contacts (account_id, email, list_id, row_id, fields, status, created_at, updated_at)
  select $1, email, $2, "rowId", fields, status, $4, $4
  from jsonb_to_recordset($3::jsonb) as i(email text, "rowId" text, fields jsonb, status text)`,
)

const newRows = `
  select *
  from unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[], string_to_array($8, E'\n'), $11::text[])
    as i(email, row_id, domain, status, reasons, fields, contact_status)`

const addingContacts = `
  insert into contacts (account_id, email, list_id, row_id, fields, status, created_at, updated_at)
  select $1, email, $2, row_id, fields::jsonb, coalesce(contact_status, $10), $9, $9
  from new`

// An address that was not verified has no reasons and no time either.
const addingAddresses = `
  insert into addresses (account_id, email, row_id, domain, verification_status, verification_reasons, verified_at)
  select $1, email, row_id, domain,
    v.status,
    case when v.status is not null then string_to_array(coalesce(reasons, ''), ' ') end,
    case when v.status is not null then $9::timestamptz end
  from new
  cross join lateral (select nullif(coalesce(new.status, 'valid'), 'none') as status) v`

// PostgreSQL runs the main statement before `member`: all addresses, then all contacts.
/**
 * Inserts addresses that are new to the account, and their contacts. $3 addresses, $4 row ids, $5 domains, $6 verification statuses
 * (null: `valid`; `none`: not verified), $7 reasons, each as one text with spaces (null: none), $8 fields (`joinFields`), $9 now, $10 the
 * status of the contacts, $11 the status of those that have another one. $6, $7 and $11 may be shorter than the other arrays.
 */
export const addContacts = preparedStatement(
  'add-contacts',
  {},
  `
  with new as materialized (${newRows}), member as (${addingContacts})
  ${addingAddresses}`,
)
