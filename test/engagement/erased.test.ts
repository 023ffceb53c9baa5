import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { readPerson } from '../../src/contacts/contacts.personal-data.ts'
import { createList, eraseContact } from '../../src/contacts/contacts.ts'
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
