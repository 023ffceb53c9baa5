import { expect, test } from 'vitest'
import { readPerson } from '../../src/contacts/contacts.personal-data.ts'
import { createList, eraseContact, writeContacts } from '../../src/contacts/contacts.ts'
import { applyJourneys } from '../../src/journeys/journeys.ts'
import { addressColumns, textColumns } from '../../src/store/held-addresses.ts'
import { sampleProject } from '../../src/studio/studio.ts'
import { ok } from '../support/app.ts'
import { svc } from '../support/cli.ts'
import { claim, course } from '../support/courses.ts'
import { answer, engagedAccount, publicUrl, sendProject, useEngaged } from '../support/engagement.ts'

/** The address of the person, as it stands in any column. */
const needle = 'ada.needle@people.example'
const other = 'bob@people.example'

const { t, sink } = useEngaged({ development: true })

/** Columns of what operators set up, send and import: each of its own, so that a new one is decided about. */
const setUp = `accounts.(name|slug|move) api_keys.name brands.(brand_name|color|logo|postal_address|privacy_url)
  bounce_mailboxes.(error|folder|host|username) busy_calendars.(busy|fault) contact_lists.(fields|name) courses.title
  deleted_lists.name delivery_targets.(last_error|url) domains.domain forms.(fields|name|origins)
  installation.(daemon_settings|public_url) journeys.name lessons.(content|html|title|video_url)
  lifecycle_bindings.subject_line mail_domains.domain mikro_orm_migrations.(change|name) pipelines.name plans.name
  project_versions.(content|template) projects.name relays.(bounce_address|host|username) senders.name
  stages.name topics.(description|name) webinars.(cover|description|replay_url|stream_url|title)
  broadcasts.(audience|checkpoint|filter_names|letter|name|subject|variant_sent|variants)
  imports.(file|options) segments.(filter_names|name)`
  .split(/\s+/)
  .map((one) => one.replace('.', '\\.'))

/** Columns that can't hold an address of a person, by what they hold. */
const without: Readonly<Record<string, RegExp>> = {
  'ids and keys':
    /\.(id|.+_id|row_ids|list_ids|trigger_key|session_key|copy_of|batch|scope|cause|link)$|^day_(counts|tallies)\.subject$|^(busy_calendars|(pending|ended)_deliveries)\.key$/,
  'secrets, hashes and what is sealed':
    /\.(.*hash|.*sha256|.*fingerprint|sealed_.*|former_sealed_.*|token|public_key|prefix|last_four|key_last4)$/,
  'one of some words':
    /\.(status|verification_status|.*kind|type|.*_type|metric|copy|finding|currency|timezone|cancelled_by|source|outcome|quota|queue|provider|access_mode|created_via|plan|counts|scopes|events|link_kind|event|awaited|step|trigger_key|family|actor|job|disabled_reason|verification_reasons|content_type|rule|found|lang)$/,
  'why something ended or was refused': /^(broadcasts|import_rejects|journey_runs|messages|suppressions)\.reason$/,
  'what operators set up': new RegExp(`^(${setUp.join('|')})$`),
  'the sender': /^messages\.from_/,
  'a domain': /^addresses\.domain$/,
  'links of projects, as their author wrote them': /^message_result(s|_changes)\.url$/,
  'the page of a payment provider': /^payment_orders\.session_url$/,
  'a name of an event, which has no @': /^activities\.name$/,
  'names and fields of a form, and the address of a client':
    /^form_signups\.(form_name|shown)$|^form_consents\.(form_name|fields|address)$/,
  'the place in a definition': /^journey_runs\.(cursor|last_fault)$/,
}

/** Idempotency keys, as callers chose them. They name no person for us, so that an export leaves them out. */
const keysOfCallers = Object.fromEntries(
  ['activity_keys.key', 'deals.idempotency_key', 'messages.key'].map((one) => [
    one,
    'a repetition of the call must do nothing for ever',
  ]),
)

/** Columns where the address stays, each with the reason. */
const stays: Readonly<Record<string, string>> = {
  'suppressions.email': 'a person who left or complained must not get email after they are added again',
  'access_log.email': 'the record of who has read the data',
  ...Object.fromEntries(
    ['senders.email', 'broadcasts.sender', 'lifecycle_bindings.sender'].map((one) => [
      one,
      'the account sends from it',
    ]),
  ),
  ...keysOfCallers,
}

/** Columns whose erasure another test shows, because the address gets there in other ways. */
const elsewhere: Readonly<Record<string, string>> = {
  'address_findings.email': 'messages/forget.test.ts',
  'course_completions.name': 'courses/portal.test.ts',
  'ended_deliveries.attempts': 'deliveries/erase.test.ts',
  'ended_deliveries.body': 'deliveries/erase.test.ts',
  'form_consents.email': 'forms/consents.test.ts',
  'form_people.email': 'forms/stats.test.ts',
  'form_signups.fields': 'forms/confirm.test.ts',
  'journey_runs.awaited_where': 'journeys/erase.test.ts',
  'journey_versions.definition': 'journeys/erase.test.ts',
  'message_people.email': 'results/results.test.ts',
  'message_result_changes.email': 'results/results.test.ts',
  'messages.error': 'messages/forget.test.ts',
  'pending_deliveries.attempts': 'deliveries/erase.test.ts',
  'pending_deliveries.body': 'deliveries/erase.test.ts',
}

const textOf = (column: string) =>
  `case when pg_typeof("${column}") = 'bytea'::regtype then encode("${column}"::text::bytea, 'escape') else "${column}"::text end`

/** Columns of all types but numbers, times, booleans, bits and ranges. */
const columns = () =>
  t.app.sql<{ table: string; column: string }>(
    `select c.relname as table, a.attname as column from pg_class c
     join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     join pg_type y on y.oid = a.atttypid
     left join pg_type e on e.oid = y.typelem and y.typcategory = 'A'
     where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p')
       and coalesce(e.typcategory, y.typcategory) not in ('B', 'D', 'N', 'R', 'T', 'V')
     order by 1, 2`,
  )

/** Returns the columns of all tables that contain the address. */
const holding = async (): Promise<string[]> => {
  const found: string[] = []
  for (const { table, column } of await columns()) {
    const rows = await t.app.sql(`select from "${table}" where strpos(lower(${textOf(column)}), $1) > 0 limit 1`, [
      needle,
    ])
    if (rows.length > 0) found.push(`${table}.${column}`)
  }
  return found
}

/** Returns the texts in a value of a column that contain the address, whatever holds them. */
const textsIn = (value: unknown): string[] => {
  if (Buffer.isBuffer(value)) return textsIn(value.toString())
  if (typeof value === 'string' && value.startsWith('{"')) return textsIn(JSON.parse(value))
  if (typeof value === 'string') return value.toLowerCase().includes(needle) ? [value] : []
  return typeof value === 'object' && value !== null ? Object.entries(value).flat().flatMap(textsIn) : []
}

/** Returns those of the columns whose texts about the person an export does not have. */
const missingIn = async (person: string, among: readonly string[]): Promise<string[]> => {
  const missing: string[] = []
  for (const one of among) {
    const [table, column] = one.split('.')
    const rows = await t.app.sql<{ value: unknown }>(`select "${column}" as value from "${table}"`)
    const texts = rows.flatMap(({ value }) => textsIn(value))
    if (texts.some((text) => !person.includes(JSON.stringify(text).slice(1, -1)))) missing.push(one)
  }
  return missing
}

/** Columns of rows that belong to a row with the address, each with that row. */
const beside: Readonly<Record<string, string>> = {
  'message_attachments.content': 'messages.email',
  'message_attachments.filename': 'messages.email',
}

/** Returns those of the columns that have the address in a row where no column says whose it is. */
const unfoundIn = async (among: readonly string[]): Promise<string[]> => {
  const unfound: string[] = []
  const all = new Set((await columns()).map(({ table, column }) => `${table}.${column}`))
  for (const one of among) {
    const [table, column] = one.split('.')
    if ([...addressColumns, ...textColumns].includes(column!) || beside[one]) continue
    const isOwn = addressColumns.filter((name) => all.has(`${table}.${name}`)).map((name) => `lower(${name}) = $1`)
    const rows = await t.app.sql(
      `select from "${table}" where strpos(lower(${textOf(column!)}), $1) > 0 and not (${isOwn.join(' or ') || 'false'}) limit 1`,
      [needle],
    )
    if (rows.length > 0) unfound.push(one)
  }
  return unfound
}

const named = (text: string) => `${text} ${needle.toUpperCase()}`

test('an export has an address with all of its text from every column that can hold it, and an erasure removes it there', async () => {
  const sample = sampleProject(`${publicUrl}/picture.png`)
  const blocks = sample.blocks.map((block) => {
    const { props } = block as { props: { items?: { name: string }[]; title?: string } }
    if (block.id === 'mug') props.items![0]!.name = 'Mug for {{ name }}'
    if (block.id === 'call') props.title = 'Call with {{ name }}'
    return block
  })
  const account = await engagedAccount(t, { ...sample, blocks })
  const work = <T>(run: Parameters<typeof t.app.work<T>>[2]) => t.app.work(account.id, 'cli:test', run)
  let calls = 0
  const call = (method: 'POST', path: string, body: object) => {
    const headers = { 'idempotency-key': `${++calls} ${needle}` }
    return ok(t.request(method, path as never, { key: account.key, body, headers }))
  }
  const listId = await work(async (w) => {
    const { id } = await createList(w, { name: 'People' })
    await writeContacts(
      w,
      id,
      [
        { email: needle, fields: { note: named('Note') } },
        { email: other, fields: {} },
      ],
      new Map(),
    )
    return id
  })
  const run = async (...args: string[]) => {
    const ran = await svc(t, ['--account', account.id, ...args])
    expect([0, 5], ran.stderr).toContain(ran.status)
    return ran
  }
  await run('payments', 'provider', 'set', '--provider', 'test')
  await work((w) =>
    applyJourneys(w, [{ name: 'Wait', trigger: { kind: 'api' }, steps: [{ kind: 'delay', for: '1d' }] }]),
  )
  const [journey] = (await t.request('GET', '/journeys', { key: account.key })).body.journeys
  await call('POST', `/journeys/${journey!.id}/trigger`, { email: needle, listId, data: { who: named('Run') } })
  const mail = await sendProject(t, sink, account, { to: needle, mergeData: { name: named('Ada') } })
  for (const link of [mail.open, ...mail.clicks]) await ok(t.request('GET', link as never))
  await ok(answer(t, mail, 'about', { company: named('Acme'), wishes: named('Wish') }))
  await ok(answer(t, mail, 'colour', 'Red'))
  const { body: view } = await ok(t.request('GET', `/liveview/${mail.token}`))
  const block = view.blocks.find(({ id }) => id === 'call') as { props: { slots: number[] } } | undefined
  const startAt = block!.props.slots.at(-1)!
  await ok(answer(t, mail, 'call', { startAt, name: named('Ada') }))
  const { bookings } = (await run('bookings', 'list', '--email', needle, '--json')).json
  await run('bookings', 'cancel', bookings[0].id, '--reason', named('Ill:'), '--yes')
  await ok(answer(t, mail, 'mug', {}))
  const attachments = [{ filename: `${needle}.txt`, content: Buffer.from(needle).toString('base64') }]
  await call('POST', '/send', {
    to: needle,
    subject: named('Dear'),
    html: named('x'),
    text: named('x'),
    replyTo: needle,
    headers: { 'X-Person': needle },
    attachments,
    cc: [other],
  })
  await call('POST', '/send', {
    to: other,
    subject: 'Ticket',
    html: 'x',
    text: 'x',
    replyTo: needle,
    headers: { 'X-Person': named('From') },
  })
  await call('POST', '/deals', { title: named('Deal of'), email: needle })
  await call('POST', '/deals', { title: named('Deal about'), email: other })
  const launch = { title: 'Launch', scheduledAt: t.app.now().getTime() + 3_600_000 }
  const { body: made } = await ok(t.request('POST', '/webinars', { key: account.key, body: launch }))
  await call('POST', `/webinars/${made.webinar.id}/register`, { email: needle, name: named('Ada') })
  await call('POST', '/events', { name: 'signed_up', email: needle, listId, data: { who: named('Event') } })
  await claim(t, account, 'needles')
  const { id: courseId } = await course(t, account, 'Course', ['One'])
  await call('POST', `/courses/${courseId}/enroll`, { email: needle })
  await run('senders', 'add', '--email', needle, '--name', 'Ada')
  await run('senders', 'add', '--email', 'team@shop.example', '--name', 'Team', '--reply-to', needle)
  await run('segments', 'create', '--name', 'S', '--list', 'People', '--where', `email = ${needle}`)
  await run(
    'broadcasts',
    'create',
    '--name',
    'B',
    '--list',
    'People',
    '--project',
    account.projectId,
    '--where',
    `email = ${needle}`,
    '--sender',
    needle,
    '--reply-to',
    needle,
  )
  await run('bindings', 'set', `course:${courseId}`, 'enrolled', account.projectId, '--sender', needle)
  await svc(t, ['--account', account.id, 'contacts', 'import', '-', '--list', 'People'], {
    stdin: `email,a\n${needle},1,2\n`,
  })
  await run('suppressions', 'add', needle)
  const person = JSON.stringify(await work((w) => readPerson(t.app, w, needle)))
  for (const text of ['Deal about', 'Deal of', 'Mug for', 'Call with']) expect(person).toContain(text)
  expect(person).toContain('"messagesNaming":[{')
  const before = await holding()
  const ours = before.filter((one) => !keysOfCallers[one])
  expect(await missingIn(person, ours)).toEqual([])
  // By these columns the restore of a backup finds the people whom it erases again.
  expect(await unfoundIn(ours.filter((one) => !stays[one]))).toEqual([])
  expect(before).toEqual(expect.arrayContaining(Object.keys(keysOfCallers)))
  const all = (await columns()).map(({ table, column }) => `${table}.${column}`)
  const unknown = all.filter(
    (one) =>
      !before.includes(one) && !stays[one] && !elsewhere[one] && !Object.values(without).some((held) => held.test(one)),
  )
  // A new column: write the address into it here, and erase it; or say what it holds.
  expect(unknown).toEqual([])
  const personalData = await t.app.personalData()
  await work((w) => eraseContact(w, needle, { dryRun: false, personalData }))
  expect((await holding()).filter((one) => !stays[one])).toEqual([])
})
