import { opaqueArray } from '../../store/arrays.ts'
import { typed } from '../../store/column-types.ts'
import { preparedStatement } from '../../store/statement.ts'
import { types } from '../../store/tables.ts'
import { addresses, contacts } from '../contacts.columns.ts'
import type { Fields } from '../contacts.fields.ts'
import type { Contact } from '../contacts.view.ts'
import type { VerificationResult } from '../verification/result.ts'
import type { AddressSignal } from '../verification/signals.ts'

/*
 * The set-based statements of every write of contacts into a list. Addresses are sorted.
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
type StoredResult = readonly [
  place: number,
  status: VerificationResult['status'] | null,
  reasons: string[] | null,
  old: boolean,
]

/**
 * `kinds` has a letter for each address, in order: `n` is new to the account, `k` is known to the account, `m` is in the list
 * with other fields, `s` is in the list with the same fields. `findings` are signals of addresses
 * (contacts/verification/signals.ts).
 */
export interface Probed {
  kinds: string
  verifications: StoredResult[] | null
  findings: Record<string, AddressSignal[]> | null
}

/**
 * Joins fields, each as JSON, to one text with line breaks, which serialised JSON never contains. That is cheaper than an array
 * or one document.
 */
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
    where account_id = :accountId and email = any(${opaqueArray(':emails')}::text[])
    group by email
  ) f`

const addressOf = `
  select row_id, verification_status as status, verification_reasons as reasons,
    verified_at < :now::timestamptz - interval '24 hours' as is_old
  from addresses
  where account_id = :accountId and email = i.email
  limit 1`

const contactOf = `
  select fields as held
  from contacts
  where account_id = :accountId and row_id = a.row_id and list_id = :listId
  limit 1`

/** Returns one `Probed` for addresses with their fields (`joinFields`). Locks nothing. */
export const probeContacts = preparedStatement(
  'probe-contacts',
  {
    row: {
      kinds: 'text',
      verifications: typed<Probed['verifications']>('json'),
      findings: typed<Probed['findings']>('json'),
    },
    parameters: { accountId: 'text', listId: 'text', emails: '_text', fields: 'text', now: 'timestamptz' },
  },
  `
  select string_agg(${kind}, '' order by i.place) as kinds,
    ${storedResults} as verifications,
    (${signals}) as findings
  from unnest(${opaqueArray(':emails')}, string_to_array(:fields, E'\n')) with ordinality as i(email, fields, place)
  left join lateral (${addressOf}) a on true
  left join lateral (${contactOf}) c on true`,
)

const lockKnown = (name: string, strength: string) =>
  preparedStatement(
    name,
    { row: types(addresses, 'email', 'rowId'), parameters: { accountId: 'text', emails: '_text' } },
    `
  select i.email, a.row_id as "rowId" from unnest(${opaqueArray(':emails')}) as i(email)
  cross join lateral (select row_id from addresses where account_id = :accountId and email = i.email for ${strength}) a`,
  )

/** Share-locks addresses against removal. */
export const shareKnown = lockKnown('share-known-addresses', 'key share')
/** Locks addresses against removal, and for an update of their verification results. */
export const lockForResults = lockKnown('lock-verifications', 'no key update')

/** Takes the results of locked addresses as JSON, each with its `email`. */
export const writeVerifications = preparedStatement(
  'write-verifications',
  { parameters: { accountId: 'text', verifications: 'jsonb', now: 'timestamptz' } },
  `
  update addresses a set verification_status = x.status, verification_reasons = x.reasons, verified_at = :now
  from (
    select held.address, i.status, i.reasons from jsonb_to_recordset(:verifications::jsonb) as i(email text, status text, reasons text[])
    cross join lateral (select ctid as address from addresses where account_id = :accountId and email = i.email limit 1) held
  ) x
  where a.ctid = x.address`,
)

// Locked by this statement and written by the next one, whose snapshot sees earlier commits of other transactions.
/** Takes `email` and new `fields` of contacts in the list, as JSON. Locks the contacts that differ, and returns their fields so far. */
export const lockChanged = preparedStatement(
  'lock-changed',
  {
    row: { ...types(contacts, 'email', 'rowId'), previous: contacts.columns.fields },
    parameters: { accountId: 'text', listId: 'text', changes: 'jsonb' },
  },
  `
  select i.email, a.row_id as "rowId", held.previous from jsonb_to_recordset(:changes::jsonb) as i(email text, fields jsonb)
  cross join lateral (select row_id from addresses where account_id = :accountId and email = i.email limit 1) a
  cross join lateral (
    select fields as previous from contacts
    where account_id = :accountId and row_id = a.row_id and list_id = :listId and not fields @> i.fields for no key update
  ) held`,
)

/** New fields of a locked contact. */
export interface LockedChange {
  listId: string
  rowId: string
  fields: Fields
}

/** Takes `LockedChange`s as JSON. */
export const changeContacts = preparedStatement(
  'change-contacts',
  { parameters: { accountId: 'text', now: 'timestamptz', changes: 'jsonb' } },
  `
  update contacts c set fields = c.fields || x.fields, updated_at = :now
  from (
    select held.contact, i.fields from jsonb_to_recordset(:changes::jsonb) as i("listId" text, "rowId" text, fields jsonb)
    cross join lateral (
      select ctid as contact from contacts where account_id = :accountId and row_id = i."rowId" and list_id = i."listId" limit 1
    ) held
  ) x
  where c.ctid = x.contact`,
)

/** Takes `email`, `rowId`, `fields` and `status` of the new contacts of known addresses as JSON. */
export const joinContacts = preparedStatement(
  'join-contacts',
  { parameters: { accountId: 'text', listId: 'text', contacts: 'jsonb', now: 'timestamptz' } },
  `
  insert into contacts (account_id, email, list_id, row_id, fields, status, created_at, updated_at)
  select :accountId, email, :listId, "rowId", fields, status, :now, :now
  from jsonb_to_recordset(:contacts::jsonb) as i(email text, "rowId" text, fields jsonb, status text)`,
)

const newRows = `
  select *
  from unnest(:emails::text[], :rowIds::text[], :domains::text[], :results::text[], :reasons::text[],
    string_to_array(:fields, E'\n'), :statuses::text[])
    as i(email, row_id, domain, result, reasons, fields, status)`

const addingContacts = `
  insert into contacts (account_id, email, list_id, row_id, fields, status, created_at, updated_at)
  select :accountId, email, :listId, row_id, fields::jsonb, status, :now, :now
  from new`

// An address that was not verified has no time either.
const addingAddresses = `
  insert into addresses (account_id, email, row_id, domain, verification_status, verification_reasons, verified_at)
  select :accountId, email, row_id, domain, result, string_to_array(reasons, ' '),
    case when result is not null then :now::timestamptz end
  from new`

// PostgreSQL runs the main statement before `member`: all addresses, then all contacts.
/**
 * Inserts addresses that are new to the account, and their contacts. `results` and `reasons`, as one text with spaces, are those of
 * their verification, or null. `fields` is from `joinFields`.
 */
export const addContacts = preparedStatement(
  'add-contacts',
  {
    parameters: {
      accountId: 'text',
      listId: 'text',
      emails: '_text',
      rowIds: '_text',
      domains: '_text',
      results: typed<(VerificationResult['status'] | null)[]>('_text'),
      reasons: typed<(string | null)[]>('_text'),
      fields: 'text',
      statuses: typed<Contact['status'][]>('_text'),
      now: 'timestamptz',
    },
  },
  `
  with new as materialized (${newRows}), member as (${addingContacts})
  ${addingAddresses}`,
)
