import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { newId } from '../../src/lib/ids.ts'
import { ok, type TestAccount, type TestApp } from './app.ts'
import { svc } from './cli.ts'

export type Things = Record<string, string[]>

/**
 * Fills an account with one of everything; returns the ids and names of what it has. Names begin with that of the account, and end
 * with `suffix`. Files are written to `folder`.
 */
export const furnish = async (t: TestApp, account: TestAccount, folder: string, suffix = ''): Promise<Things> => {
  const { name, key } = account
  const slug = name.toLowerCase()
  const email = `${slug}@people.example`
  const json = async (command: string, ...args: string[]) => {
    const ran = await svc(t, [...command.split(' '), ...args, '--account', account.id, '--json'])
    expect([command, ran.status, ran.stderr]).toEqual([command, 0, expect.any(String)])
    return ran.json
  }
  const file = async (path: string, text: string) => {
    await writeFile(join(folder, `${slug}-${path}`), text)
    return join(folder, `${slug}-${path}`)
  }
  const of = (noun: string) => `${name} ${noun}${suffix}`
  const list = await json('lists create', '--name', of('list'), '--field', 'plan')
  await json('contacts upsert', '--list', list.id, '--email', email, '--field', 'plan=pro')
  const [contact] = (await json('contacts show', email)).contacts
  const where = ['--list', list.id, '--where', 'plan=pro']
  const segment = await json('segments create', '--name', of('segment'), ...where)
  const people = await file('people.csv', `email\nother-${email}\nnone\n`)
  const imported = await json('contacts import', people, '--list', list.id)
  const form = await json('forms create', '--name', of('form'), '--list', list.id)
  const topic = await json('topics create', '--name', of('topic'))
  const suppressed = `gone-${email}`
  await json('suppressions add', suppressed, '--topic', topic.id)
  await json('score set', email, '--score', '50')
  const sender = await json('senders add', '--email', `hello@${slug}.example`, '--name', name)
  const domain = await json('domains add', `${slug}.example`)
  const design = await file(
    'project.json',
    JSON.stringify({ name: of('project'), theme: {}, blocks: [{ id: 'a', type: 'text', props: { text: 'Hi' } }] }),
  )
  const project = await json('projects apply', '-f', design)
  const hook = ['--url', `https://hooks.example.com/${slug}`]
  await json('projects webhook set', project.id, ...hook)
  const send = await json('send', '--to', email, '--project', project.id, '--at', '2d')
  const broadcast = await json(
    'broadcasts create',
    '--name',
    of('broadcast'),
    '--list',
    list.id,
    '--project',
    project.id,
  )
  const pipeline = await json(
    'pipelines create',
    '--name',
    of('pipeline'),
    '--stage',
    of('new'),
    '--stage',
    `${of('won')}:won`,
  )
  const [stage] = pipeline.stages
  const deal = await json('deals create', '--title', of('deal'), '--email', email, '--stage', stage.id)
  const journeyfile = await file(
    'journey.json',
    JSON.stringify({ name: of('journey'), trigger: { kind: 'api' }, steps: [{ kind: 'delay', for: '9d' }] }),
  )
  const journey = await json('journeys apply', '-f', journeyfile)
  await json('journeys trigger', journey.id, '--email', email, '--list', list.id)
  const [run] = (await json('journeys runs', journey.id)).runs
  const webinar = await json('webinars create', '--title', of('webinar'), '--at', '2d')
  const { status } = await t.request('POST', `/webinars/${webinar.id}/register`, { key, body: { email, name } })
  expect(status).toBe(200)
  const [registration] = (await json('webinars registrations', webinar.id)).registrations
  const course = await json('courses create', '--title', of('course'))
  await json('courses publish', course.id)
  await json('accounts claim-slug', slug)
  const lesson = await json('courses lessons add', course.id, '--title', of('lesson'), '--content', of('text'))
  await json('courses enroll', course.id, '--email', email)
  await json('bindings set', `course:${course.id}`, 'enrolled', project.id)
  const webhook = await json('webhooks create', ...hook, '--events', 'deal.created')
  await json('deals create', '--title', of('other deal'), '--email', email, '--stage', stage.id)
  await ok(t.request('GET', `/contacts?email=${email}`, { key }))
  const [event] = (await json('events list')).events
  const [delivery] = (await json('deliveries list')).deliveries
  const booking = newId('bkg', t.app.now().getTime())
  await t.app.sql(
    `insert into bookings (account_id, id, project_id, message_id, block_id, status, title, start_at, end_at, timezone, name, email,
       sequence, created_at, updated_at, is_replaced)
     values ($1, $2, $3, $4, 'a', 'confirmed', $5, svc_now() + interval '1 day', svc_now() + interval '1 day', 'UTC', $5, $6, 0, svc_now(), svc_now(), false)`,
    [account.id, booking, project.id, send.id, of('booking'), email],
  )
  const payment = newId('pay', t.app.now().getTime())
  await t.app.sql(
    `insert into payment_orders (account_id, id, message_id, block_id, project_id, project_version, email, currency, amount, items,
       provider, status, created_at)
     values ($1, $2, $3, 'a', $4, 1, $5, 'USD', 5, '[]', 'test', 'open', svc_now())`,
    [account.id, payment, send.id, project.id, email],
  )
  return {
    file: [people],
    journeyfile: [journeyfile],
    email: [email],
    suppressed: [suppressed],
    row: [contact.rowId],
    list: [list.id, list.name],
    segment: [segment.id, segment.name],
    import: [imported.id],
    form: [form.id, form.name],
    topic: [topic.id, topic.name],
    sender: [sender.id],
    domain: [domain.domain],
    project: [project.id, project.name],
    send: [send.id],
    broadcast: [broadcast.id, broadcast.name],
    pipeline: [pipeline.id, pipeline.name],
    stage: [stage.id, stage.name],
    deal: [deal.id],
    journey: [journey.id, journey.name],
    run: [run.id],
    webinar: [webinar.id, webinar.title],
    registration: [registration.id],
    course: [course.id, course.title],
    lesson: [lesson.id],
    webhook: [webhook.id],
    event: [event.id],
    delivery: [delivery.id],
    booking: [booking],
    payment: [payment],
    key: [account.keyId],
  }
}
