import type pg from 'pg'

/*
 * Fills every table of accounts with generated rows, from what the catalog says of its columns: so a new table has content without
 * anyone adding it here. Row k of each table belongs to set k: it refers to row k of the other tables. Statuses, flags and nulls
 * vary from set to set, so that each condition of a statement holds in some of them.
 */

export const sets = 24
const half = sets / 2
/** The first sets of account m have all rows, the others some. */
export const complete = 8

/** What svc_now() and now() return in the databases of the test. */
export const now = '2020-01-01T00:00:00.000Z'

/**
 * The accounts, each a letter in its ids:
 * - m: the one whose rows the statements may touch. Its last sets are incomplete.
 * - h: has the same rows, t: has all sets and other facts. Both have the ids of m where keys allow it, and sort before and
 *   after it.
 * - z: has ids, names and addresses of its own.
 * - n: is new and has no rows.
 */
export type Owner = 'm' | 'h' | 't' | 'z' | 'n'

export const idOf = (noun: string, k: number, owner: Owner = 'm'): string =>
  `${noun.replaceAll('_', '')}_01k0000000${owner}${String(k).padStart(15, '0')}`

export const accountOf = (owner: Owner): string => idOf('account', 0, owner)

export const emailOf = (k: number): string => `p${k}@m.example`

interface Column {
  name: string
  type: string
  isNullable: boolean
  /** The values that a check constraint allows, if there is one. */
  allowed: string[] | null
}

export interface Table {
  name: string
  columns: Column[]
  /** The columns of its primary key. */
  key: string[]
  /** Columns whose values are unique in the installation. */
  unique: string[]
  /** The tables that it refers to. */
  needs: string[]
}

export type Row = Record<string, unknown>
export type Content = Map<string, Row[]>

/**
 * Reads the tables that have an `account_id`, and `accounts` and `rate_windows`, whose rows belong to accounts too. Those that others
 * refer to come first.
 */
export const readTables = async (client: pg.Client): Promise<Table[]> => {
  const { rows } = await client.query<Table>(`
    select c.relname::text as name,
      (select json_agg(json_build_object('name', a.attname, 'type', t.typname, 'isNullable', not a.attnotnull, 'allowed', (
         select array(select m[1] from regexp_matches(pg_get_constraintdef(k.oid), '''([^'']*)''::text', 'g') m)
         from pg_constraint k where k.conrelid = c.oid and k.contype = 'c' and k.conkey = array[a.attnum] limit 1
       )) order by a.attnum)
       from pg_attribute a join pg_type t on t.oid = a.atttypid
       where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as columns,
      array(select a.attname::text from pg_index i join pg_attribute a on a.attrelid = c.oid and a.attnum = any(i.indkey)
        where i.indrelid = c.oid and i.indisprimary order by array_position(i.indkey::int2[], a.attnum)) as key,
      array(select a.attname::text from pg_index i join pg_attribute a on a.attrelid = c.oid and a.attnum = i.indkey[0]
        where i.indrelid = c.oid and i.indisunique and i.indnatts = 1) as unique,
      array(select f.confrelid::regclass::text from pg_constraint f
        where f.conrelid = c.oid and f.contype = 'f' and f.confrelid <> c.oid) as needs
    from pg_class c
    where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' and (
      c.relname in ('accounts', 'rate_windows')
      or exists (select from pg_attribute where attrelid = c.oid and attname = 'account_id')
    )
    order by c.relname`)
  const ordered: Table[] = []
  while (rows.length > 0) {
    const next = rows.findIndex(({ needs }) => !rows.some(({ name }) => needs.includes(name)))
    ordered.push(...rows.splice(next, 1))
  }
  return ordered
}

/** What columns call the ids of a table, where that is not its name in the singular. */
const nouns: Record<string, string> = {
  contact_lists: 'list',
  deleted_lists: 'list',
  delivery_targets: 'target',
  webhooks: 'target',
  journey_runs: 'run',
  payment_orders: 'order',
  message_queue: 'message',
  api_keys: 'key',
}
const nounOf = (table: string): string => nouns[table] ?? table.replace(/s$/, '')

/** A whole number that a place determines. */
const chanceOf = (place: string): number => {
  let hash = 0x811c9dc5
  for (const letter of place) hash = Math.imul(hash ^ letter.charCodeAt(0), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  return (hash ^ (hash >>> 13)) >>> 4
}

const hour = 3_600_000
export const timeOf = (k: number): string => new Date(Date.parse(now) - (k + 1) * hour).toISOString()

/** The key of a delivery: its event, in one set the step of a run that it belongs to. */
const deliveryKey = (k: number): string => (k === 2 ? `${idOf('run', k)}:1` : idOf('evt', k % half))

/** Values of columns whose type does not say enough, by the column's name or the table's and the column's. */
const special: Record<string, (k: number) => unknown> = {
  key_id: (k) => idOf('key', k),
  api_key_id: (k) => idOf('key', k),
  root_id: (k) => idOf('run', k),
  owner_id: (k) => idOf('project', k),
  hash: (k) => idOf('hash', k),
  email: emailOf,
  filter: (k) => `email = "${emailOf(k)}"`,
  body: (k) => `{"body":"${k} of m"}`,
  counts: () => ({ open: 1 }),
  attempts: (k) => [{ at: 0, status: 500, error: `error ${k} of m`, snippet: 'x' }],
  quota: (k) => ['sends', 'sendApiCalls', 'embedApi', 'broadcastMinutes'][k % 4],
  used: (k) => k * 10,
  tries: () => 0,
  is_default: (k) => k === 0,
  // Deliveries are found between those of the same moment as their event. Some events and targets have none.
  'events.id': (k) => idOf('evt', k),
  'events.type': (k) => (k % 2 ? 'contact.created' : 'form.submitted'),
  'events.payload': (k) =>
    `{"id":"${idOf('evt', k)}","data":{"email":"${emailOf(k)}","form":{"id":"${idOf('block', k)}","name":"x"},"contact":null}}`,
  'interactions.kind': (k) => ['form', 'open', 'click', 'vote', 'rating', 'quiz', 'booking', 'purchase'][k % 8],
  'interactions.id': (k) => idOf('int', k),
  'pending_deliveries.id': (k) => idOf('dlv', k),
  'ended_deliveries.id': (k) => idOf('dlv', k < half ? 100 + k : k),
  'pending_deliveries.key': deliveryKey,
  'ended_deliveries.key': deliveryKey,
  'pending_deliveries.target_id': (k) => idOf('target', k === 1 ? 99 : k % half),
  'ended_deliveries.target_id': (k) => idOf('target', k % half),
  delivery_id: (k) => (k % 2 ? null : idOf('dlv', k)),
  'journey_runs.context': (k) => ({ data: `${k} of m` }),
  // What is being deleted is gone from its own table.
  'deleted_lists.id': (k) => idOf('list', 100 + k),
  'deleted_courses.id': (k) => idOf('course', 100 + k),
  'journey_runs.awaited_where': (k) => `deal.email = ${emailOf(k)}`,
  'journey_versions.definition': (k) => ({ definition: `${k} of m`, steps: [{ where: `email = ${emailOf(k)}` }] }),
  'journey_step_log.kind': (k) => (k % 2 ? 'split' : 'send-email'),
  'journey_step_log.outcome': () => 'a',
  'journey_versions.journey_id': (k) => idOf('journey', k === 1 ? 99 : k),
  'journey_versions.look_at': timeOf,
  'form_people.form_id': (k) => idOf('form', k === 1 ? 99 : k),
  'import_rejects.import_id': (k) => idOf('import', k % half),
  // Stages k and k + half are in one pipeline; the second has no deals.
  'stages.pipeline_id': (k) => idOf('pipeline', k % half),
  'stages.kind': (k) => ['open', 'won', 'lost'][(k % half) % 3],
  'deals.pipeline_id': (k) => idOf('pipeline', k % half),
  'deals.stage_id': (k) => idOf('stage', k % half),
  from_stage_id: (k) => idOf('stage', k % half),
  to_stage_id: (k) => idOf('stage', k),
  'addresses.verification_reasons': (k) => [k % 2 ? 'dns_timeout' : 'no_mx'],
  'message_attachments.content': () => `\\x${'61'.repeat(50)}`,
  'messages.key': (k) => `broadcast:${idOf('broadcast', k)}:${idOf('row', k)}`,
  'messages.copy_of': (k) => (k < half ? null : idOf('message', k - half)),
  // The last messages are not queued any more.
  'message_queue.id': (k) => idOf('message', k < 20 ? k : 100 + k),
  'message_queue.batch': (k) => (k % 2 ? idOf('broadcast', k) : ''),
  'message_pauses.batch': (k) => idOf('broadcast', 200 + k),
  'message_queue.due_at': (k) => (k === 3 ? '9999-12-31T00:00:00Z' : timeOf(k)),
  'webinars.ended_at': (k) => timeOf(k - 1),
  'messages.status': (k) => ['pending', 'sent', 'suppressed', 'failed'][k % 4],
  'messages.error': (k) => (k === 23 ? 'delivery state unknown' : `error ${k} of m`),
  'messages.finished_at': (k) => (k % 4 ? timeOf(k) : null),
  'message_tallies.batch': (k) => idOf('broadcast', k),
  'payment_orders.items': (k) => [{ name: `item ${k} of m`, quantity: 1, amount: 100 }],
  'suppressions.topic_id': (k) => (k % 2 ? idOf('topic', k) : ''),
}

const cellOf = (table: Table, column: Column, k: number, facts: string): unknown => {
  const { name, type, allowed } = column
  const place = `${table.name}.${name}`
  const given = special[place] ?? special[name]
  const chance = chanceOf(`${place} ${k}${facts}`)
  if (given) return given(k)
  if (name === 'account_id') return accountOf('m')
  if (column.isNullable && isPerSet(table) && chance % 3 === 0) return null
  if (allowed) return allowed[chance % allowed.length]
  switch (type) {
    case 'text':
      if (name === 'id') return idOf(nounOf(table.name), k)
      return name.endsWith('_id') ? idOf(name.slice(0, -3), k) : `${name} ${k} of m`
    case '_text':
      return [`${name} ${k} of m`]
    case 'jsonb':
      return { [name]: `${k} of m` }
    case 'timestamptz':
      return timeOf(k)
    case 'tstzmultirange':
      return `{["${timeOf(k)}","${timeOf(k - 1)}")}`
    case 'bytea':
      return `${name} ${k} of m`
    case 'date':
      return timeOf(24 * k).slice(0, 10)
    case 'bool':
      return chance % 2 === 0
    case 'int2':
    case 'int4':
    case 'float8':
    case 'numeric':
      return k
    case 'uuid':
      return `00000000-0000-4000-8000-${String(k).padStart(12, '0')}`
  }
  throw new Error(`test/store/tenancy/content.ts has no values of type ${type} yet, for ${place}`)
}

/** Whether the table has rows for each set, not one for each account. */
const isPerSet = ({ key }: Table): boolean => key.join() !== 'account_id'

const plan = 'tenancy'

const account = {
  id: accountOf('m'),
  name: 'account of m',
  slug: 'slug of m',
  plan,
  contact_count: sets,
  created_at: now,
  deleted_at: null,
}

/** Returns the rows of account m, all sets of them. With other facts, statuses, flags and nulls differ. */
export const contentOf = (tables: readonly Table[], facts = ''): Content =>
  new Map(
    tables.map((table) => [
      table.name,
      table.name === 'accounts'
        ? [account]
        : Array.from({ length: isPerSet(table) ? sets : 1 }, (_, k) =>
            Object.fromEntries(table.columns.map((column) => [column.name, cellOf(table, column, k, facts)])),
          ),
    ]),
  )

/** Returns the content without some rows of the incomplete sets, as far as no table refers to them. */
export const incomplete = (content: Content, tables: readonly Table[]): Content => {
  const needed = new Set(tables.flatMap(({ needs }) => needs))
  const isKept = (table: string, k: number) => k < complete || needed.has(table) || chanceOf(`${table} ${k}`) % 2 === 0
  return new Map([...content].map(([table, rows]) => [table, rows.filter((_, k) => isKept(table, k))]))
}

const changed = (pattern: RegExp, owner: Owner) => (text: string) =>
  text.replace(pattern, (_, before: string, after: string) => `${before}${owner}${after}`)

/** Returns the value with everything that names something of account m replaced by what account z has in its place. */
export const ofOther = <T>(value: T): T =>
  JSON.parse(changed(/(\w_01k0000000|\bof |@)m(\d{15}|\b)/g, 'z')(JSON.stringify(value)))

/** Returns the content of account m as that of z. */
export const otherContent = (content: Content): Content => new Map(ofOther([...content]))

/** Returns the content of account m as that of h or t: with the same ids, except where they are unique in the installation. */
export const equalContent = (content: Content, tables: readonly Table[], owner: 'h' | 't'): Content => {
  const nouns = ['hash', ...tables.filter(({ unique }) => unique.includes('id')).map(({ name }) => nounOf(name))]
  const replace = changed(
    new RegExp(`\\b((?:${nouns.join('|').replaceAll('_', '')})_01k0000000)m(\\d{15})`, 'g'),
    owner,
  )
  const accounts = [{ ...account, name: `account of ${owner}`, slug: `slug of ${owner}` }]
  return new Map(JSON.parse(replace(JSON.stringify([...content, ['accounts', accounts]]))))
}

/** The content of a new account. */
export const newContent: Content = new Map([
  ['accounts', [{ ...account, id: accountOf('n'), name: 'account of n', slug: 'slug of n', contact_count: 0 }]],
])

/** Makes the database tell the session in notices which rows change, and stops its clock for this session. */
export const watchChanges = async (client: pg.Client, tables: readonly Table[]): Promise<void> => {
  await client.query(`
    create or replace function svc_now() returns timestamptz language sql stable as $$ select timestamptz '${now}' $$;
    create function now() returns timestamptz language sql stable as $$ select timestamptz '${now}' $$;
    create function note_change() returns trigger language plpgsql as $$ begin
      raise notice '%', jsonb_build_object('name', tg_table_name, 'operation', tg_op, 'row', coalesce(new, old));
      return null;
    end $$;
    insert into plans (name, position, contacts, sends, send_api_calls, embed_api, broadcast_minutes, webinar_courses)
      values ('${plan}', 99, 50, 50, 50, 50, 50, true);
    -- A statement runs with twenty sets of parameters, and is planned once.
    set plan_cache_mode = force_generic_plan;
    -- An unqualified now() is the one above.
    set search_path = public, pg_catalog`)
  for (const { name } of tables)
    await client.query(
      `create trigger note_change after insert or update or delete on ${name} for each row execute function note_change()`,
    )
}

export const fill = async (client: pg.Client, content: Content): Promise<void> => {
  for (const [name, rows] of content) {
    const text = `insert into ${name} select * from jsonb_populate_recordset(null::${name}, $1)`
    await client.query(text, [JSON.stringify(rows)])
  }
}
