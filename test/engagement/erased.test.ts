import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { readPerson } from '../../src/contacts/contacts.personal-data.ts'
import { createList, eraseContact, lockRecipient, writeContacts } from '../../src/contacts/contacts.ts'
import { recordReport } from '../../src/messages/messages.reports.ts'
import { createSuppressor } from '../../src/messages/outbox/outbox.suppress.ts'
import { applyProjects, sampleProject } from '../../src/studio/studio.ts'
import { untilLocked } from '../support/database.ts'
import { useDnsServer } from '../support/dns.ts'
import {
  type Arrived,
  answer,
  type EngagedAccount,
  engagedAccount,
  publicUrl,
  sendProject,
  useEngaged,
} from '../support/engagement.ts'
import { eventually } from '../support/eventually.ts'

const ada = 'ada@people.example'

const dns = useDnsServer()
const { t, sink } = useEngaged(() => ({ env: { SVC_DNS_SERVERS: dns.address } }))

let account: EngagedAccount
let mail: Arrived
beforeEach(async () => {
  account = await engagedAccount(t)
  mail = await sendProject(t, sink, account)
})

const inWork = <T>(run: Parameters<typeof t.app.work<T>>[2]) => t.app.work(account.id, 'cli:test', run)
const erase = (until?: Promise<void>) =>
  inWork(async (work) => {
    await eraseContact(work, ada, { dryRun: false, personalData: await t.app.personalData() })
    await until
  })
const startAt = async () => {
  const { blocks } = (await t.request('GET', `/liveview/${mail.token}`)).body
  return (blocks.find(({ id }) => id === 'call') as { props: { slots: number[] } }).props.slots[0]!
}
const expectNothingHeld = () =>
  expect(inWork((work) => readPerson(t.app, work, ada))).rejects.toMatchObject({ kind: 'not_found' })

test('what recipients do while they are erased is refused, as it is afterwards', async () => {
  const start = await startAt()
  const act = () =>
    Promise.all([
      answer(t, mail, 'colour', 'Red'),
      answer(t, mail, 'about', { company: 'Acme' }),
      answer(t, mail, 'call', { startAt: start }),
      t.request('GET', mail.open as never),
      t.request('GET', mail.clicks[0] as never),
      t.request('GET', mail.view as never),
    ])
  const { promise: until, resolve: commit } = Promise.withResolvers<void>()
  onTestFinished(() => commit())
  const erased = erase(until)
  await untilErased()
  const replies = act()
  await untilLocked(t.app.database, 6)
  commit()
  await erased
  expect((await replies).map(({ status }) => status)).toEqual([404, 404, 404, 404, 404, 404])
  const later = (await act()).map(({ status, body }) => ({ status, body }))
  expect((await replies).map(({ status, body }) => ({ status, body }))).toEqual(later)
  await expectNothingHeld()
})

/** An erasure waits for the commit once it has locked the messages. */
const untilErased = () =>
  eventually(async () => {
    const rows = await t.app.sql('select from messages where account_id = $1 for update skip locked', [account.id])
    return rows.length === 0
  })

describe('a hard bounce that is recorded while its recipient is erased leaves nothing about the address', () => {
  const listed = () =>
    inWork(async (work) => {
      const { id } = await createList(work, { name: 'People' })
      await writeContacts(work, id, [{ email: ada, fields: {} }], new Map())
    })
  const messageId = async () =>
    (await t.app.sql<{ id: string }>('select id from messages where account_id = $1', [account.id]))[0]!.id
  const report = async () => {
    const id = await messageId()
    const stamps = [{ id, stamp: t.app.tokens.stamp('bounce', id) }]
    const read = { kind: 'hard', fingerprint: 'one', stamps, original: null } as const
    return recordReport(t.app, read, { accountId: account.id, actor: 'job:mailboxes' })
  }
  /** The job's second transaction after a relay has refused the recipient. */
  const suppress = async () => {
    await t.app.sql('insert into pending_suppressions (account_id, message_id) values ($1, $2)', [
      account.id,
      await messageId(),
    ])
    const suppressor = createSuppressor(t.app, (fault) => expect.unreachable(String(fault)))
    onTestFinished(() => suppressor.close())
    await suppressor.run()
  }

  test.each([
    ['a report', report, false],
    ['a report, of a contact', report, true],
    ['a refusal of the relay', suppress, false],
    ['a refusal of the relay, of a contact', suppress, true],
  ])('%s', async (_, record, isListed) => {
    if (isListed) await listed()
    const { promise: until, resolve: commit } = Promise.withResolvers<void>()
    onTestFinished(() => commit())
    const erased = erase(until)
    await untilErased()
    const recorded = record()
    await untilLocked(t.app.database, 1)
    commit()
    await erased
    await recorded
    await expectNothingHeld()
    expect(await t.app.sql('select from suppressions where account_id = $1', [account.id])).toEqual([])
  })
})

test('opens, clicks and views do not wait for a change of the recipient’s choices', async () => {
  const { promise: until, resolve: release } = Promise.withResolvers<void>()
  onTestFinished(() => release())
  const { promise: locked, resolve: hold } = Promise.withResolvers<void>()
  const changing = inWork(async (work) => {
    await lockRecipient(work, ada)
    hold()
    await until
  })
  await locked
  const replies = [mail.open, mail.clicks[0], mail.view].map((path) => t.request('GET', path as never))
  expect((await Promise.all(replies)).map(({ status }) => status)).toEqual([200, 302, 200])
  release()
  await changing
})

test('an erasure waits for an answer in progress, and removes what it wrote', async () => {
  const start = await startAt()
  await answer(t, mail, 'colour', 'Red')
  const { promise: until, resolve: release } = Promise.withResolvers<void>()
  onTestFinished(() => release())
  const blocking = t.app.database.transaction(async (sql) => {
    await sql('select from lead_scores where account_id = $1 for update', [account.id])
    await until
  })
  const reply = answer(t, mail, 'call', { startAt: start })
  await untilLocked(t.app.database, 1)
  const erased = erase()
  await untilLocked(t.app.database, 2)
  release()
  await blocking
  expect((await reply).status).toBe(200)
  await erased
  await expectNothingHeld()
})

test('a recipient who is erased while DNS is asked about the answer of a form is not added again', async () => {
  const listId = await inWork(async (work) => (await createList(work, { name: 'Asked' })).id)
  const { blocks, ...file } = sampleProject(`${publicUrl}/picture.png`)
  const asking = blocks.map((block) => {
    const { id, props } = block as { id: string; props: object }
    return id === 'about' ? { ...block, props: { ...props, listId } } : block
  })
  const [applied] = await inWork((work) => applyProjects(work, [{ ...file, name: 'Asking', blocks: asking } as never]))
  mail = await sendProject(t, sink, { ...account, projectId: applied!.id! })
  dns.set('people.example', { mode: 'silent' })
  const asked = dns.queries.length
  const reply = answer(t, mail, 'about', { company: 'Acme' })
  await eventually(() => dns.queries.length > asked)
  await erase()
  expect((await reply).status).toBe(404)
  await expectNothingHeld()
})
