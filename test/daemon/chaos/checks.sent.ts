import { verify } from '../../../src/lib/signature.ts'
import { compare, type Found, tallied } from './checks.ts'

/** The error of an email that may or may not have arrived: a process died while it was on a connection. */
export const unknownState = 'delivery state unknown'

interface Message {
  id: string
  messageId: string
  key: string | null
  kind: string
  email: string
  subject: string
  status: string
  error: string | null
}

const plain = (messageId: string) => messageId.replace(/^<|@.*$/g, '')

/** Checks that every message has a valid final state, and arrived once if it was sent; returns how many are in doubt. */
export const checkMails = async (found: Found): Promise<number> => {
  const { ledger, sql, violated, world } = found
  const messages = await sql<Message>(
    `select id, key, source_kind as kind, email, subject, status, error from messages`,
  )
  const arrived = tallied(world.sink.mails.map((mail) => plain(mail.header('message-id') ?? '')))
  const inDoubt = messages.filter(({ status, error }) => status === 'failed' && error === unknownState)
  const wrong = messages.filter((message) => {
    const copies = arrived.get(message.id) ?? 0
    if (message.status === 'sent') return copies !== 1
    if (inDoubt.includes(message)) return copies > 1
    return message.status !== 'suppressed' || copies > 0
  })
  for (const { id, kind, email, status, error } of wrong.slice(0, 10))
    violated(
      `the message ${id} (${kind}) to ${email} is ${status} ${error ?? ''} and arrived ${arrived.get(id) ?? 0} times`,
    )
  if (wrong.length > 10) violated(`… and ${wrong.length - 10} more messages`)
  const ids = new Set(messages.map(({ id }) => id))
  const strays = [...arrived.keys()].filter((id) => !ids.has(id))
  if (strays.length > 0) violated(`${strays.length} mails arrived without a message, such as ${strays[0]}`)
  const twice = [...tallied(world.sink.mails.map((mail) => `${mail.to} ${mail.header('subject')}`))].filter(
    ([, n]) => n > 1,
  )
  if (twice.length > 0) violated(`${twice.length} recipients got a mail twice, such as ${twice[0]}`)

  const verdict = ({ status, error }: { status: string; error: string | null }) =>
    // A message in doubt may turn out later to have been sent.
    error === unknownState ? 'doubtful' : status
  const byKey = new Map(messages.flatMap((row) => (row.kind === 'send' ? [[row.key!.replace('api:', ''), row]] : [])))
  compare(
    found,
    'answers of POST /send',
    new Map([...byKey].map(([key, { id, status, error }]) => [key, `${id} ${verdict({ status, error })}`])),
    new Map(
      ledger.sends.map((known) => {
        const now = byKey.get(known.key)
        const resolved = known.error === unknownState && now?.status === 'sent' ? now : known
        return [known.key, `${known.id} ${verdict(resolved)}`]
      }),
    ),
  )
  const perSource = tallied(messages.map(({ kind, email, subject }) => `${kind} ${email} ${subject}`))
  for (const email of ledger.travellers)
    if (perSource.get(`journey ${email} Welcome`) !== 1) violated(`the journey wrote no or several mails to ${email}`)
  for (const { email, status, webinarId } of ledger.seats) {
    const subject = status === 'confirmed' ? 'You are registered: Live' : 'You are on the waitlist: Live'
    if (perSource.get(`lifecycle ${email} ${subject}`) !== 1)
      violated(`${email} got no or several mails on being ${status} for ${webinarId}`)
  }
  await checkReminders(found, perSource)
  return inDoubt.length
}

/** Checks that each person who was confirmed before reminders were due has one reminder, and everyone else has none. */
const checkReminders = async ({ sql, violated }: Found, perSource: Map<string, number>): Promise<void> => {
  const rows = await sql<{ email: string; isDue: boolean }>(
    `select r.email, r.status = 'confirmed' and r.created_at < w.scheduled_at - interval '1 day' as "isDue"
     from webinar_registrations r join webinars w on w.id = r.webinar_id`,
  )
  for (const { email, isDue } of rows) {
    const count = perSource.get(`lifecycle ${email} Reminder: Live`) ?? 0
    if (count !== Number(isDue)) violated(`${email} has ${count} reminders instead of ${Number(isDue)}`)
  }
}

/** Checks that changes and events match one to one, and that each event was delivered, signed, always with the same bytes. */
export const checkEvents = async (found: Found): Promise<void> => {
  const { ledger, sql, violated, world } = found
  const events = await sql<{ id: string; type: string; payload: string }>('select id, type, payload from events')
  const about = ({ type, payload }: { type: string; payload: string }) => {
    const { data } = JSON.parse(payload)
    const of = data.deal?.id ?? (data.contact && `${data.contact.listId} ${data.contact.email}`) ?? payload
    return `${type} ${of}${type === 'deal.stage_changed' ? ` ${data.fromStageId} ${data.deal.stageId}` : ''}`
  }
  const expected = [
    ...[...ledger.contacts].flatMap(([place, { changes }]) => [
      `contact.created ${place}`,
      ...Array.from({ length: changes }, () => `contact.updated ${place}`),
    ]),
    ...ledger.deals.flatMap(({ id, stages }) => [
      `deal.created ${id}`,
      ...stages.slice(1).map((stage, i) => `deal.stage_changed ${id} ${stages[i]} ${stage}`),
    ]),
    ...ledger.travellers.map((email) => `journey.completed ${world.lists.travellers} ${email}`),
  ]
  compare(found, 'events', tallied(events.map(about)), tallied(expected))

  const posts = Map.groupBy(world.receiver.requests, ({ headers }) => String(headers['x-service-idempotency-key']))
  for (const { id, type, payload } of events) {
    const received = posts.get(id) ?? []
    if (received.length === 0) violated(`the event ${id} (${type}) was never delivered`)
    if (received.some(({ body }) => body.toString() !== payload)) violated(`the event ${id} came with another body`)
    for (const { headers, body } of received) {
      // The timestamp is compared with itself, because the faults step the clock.
      const verdict = verify(world.secret, headers, body, Number(headers['x-service-timestamp']) * 1000)
      if (verdict !== 'ok') violated(`a delivery of ${id} was signed wrongly: ${verdict}`)
    }
  }
  const ids = new Set(events.map(({ id }) => id))
  const hooks = world.receiver.requests.filter(({ path }) => path === '/hook')
  if (hooks.some(({ headers }) => !ids.has(String(headers['x-service-idempotency-key']))))
    violated('something was delivered that is no event')
  const steps = world.receiver.requests.filter(({ path }) => path === '/step')
  const bodies = Map.groupBy(steps, ({ headers }) => String(headers['x-service-idempotency-key']))
  for (const [key, received] of bodies)
    if (new Set(received.map(({ body }) => body.toString())).size > 1)
      violated(`the step ${key} was posted with different bodies`)
  if (bodies.size !== ledger.travellers.length)
    violated(`${bodies.size} webhook steps were posted for ${ledger.travellers.length} runs`)

  const ends = await sql<{ status: string; count: number }>(
    `select status, count(*)::int as count from deliveries where status <> 'delivered' group by status`,
  )
  for (const { status, count } of ends) violated(`${count} deliveries are ${status}`)
}

/** Compares the quota counters with a recount. */
export const checkQuotas = async ({ sql, violated, ledger }: Found): Promise<void> => {
  const rows = await sql<{ quota: string; used: number }>(
    'select quota, sum(used)::int as used from quota_uses group by quota',
  )
  const used = (quota: string) => rows.find((row) => row.quota === quota)?.used ?? 0
  const [real] = await sql<{ calls: number; sends: number }>(
    `select count(*) filter (where source_kind = 'send')::int as calls,
       count(*) filter (where status <> 'suppressed')::int as sends from messages`,
  )
  if (used('sendApiCalls') !== real!.calls)
    violated(`${used('sendApiCalls')} calls of POST /send are counted, ${real!.calls} were made`)
  if (used('sends') !== real!.sends) violated(`${used('sends')} sends are counted, ${real!.sends} were made`)
  if (used('embedApi') < ledger.seats.length)
    violated(`${used('embedApi')} calls of the Embed API are counted, ${ledger.seats.length} were answered`)
}
