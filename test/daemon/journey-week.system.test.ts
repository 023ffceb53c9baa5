import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Method, useAccount, useApp } from '../support/app.ts'
import { svc } from '../support/cli.ts'
import { callDaemon, type Daemon, startDaemon } from '../support/daemon.ts'
import { eventually } from '../support/eventually.ts'
import { newDataFolder } from '../support/folder.ts'
import { useReceiver } from '../support/receiver.ts'

const definition = `
name: Won over
trigger:
  kind: deal-stage-changed
  stage: Qualified
exitOn: [deal-lost]
steps:
  - kind: update-field
    field: qualified
    value: 'yes, {{ name }}'
  - kind: delay
    for: 2d
  - kind: branch
    if: { field: plan, equals: pro }
    then:
      - kind: add-to-list
        list: Customers
`

const receiver = useReceiver()
const target = useApp({ env: { SVC_ALLOW_PRIVATE_WEBHOOKS: '127.0.0.0/8' }, development: true })
const account = useAccount(target)
let daemon: Daemon
beforeAll(async () => {
  daemon = await startDaemon(target, { args: ['dev'], env: { SVC_DATA_DIR: await newDataFolder() } })
})
afterAll(() => daemon.stop())

const call = async <const M extends Method, const Path extends string>(method: M, path: Path, body?: object) =>
  (await callDaemon(daemon, method, path, { key: account.key, body })).body

const run = (args: string[], stdin?: string) =>
  svc(target, ['--account', account.id, ...args, '--json'], stdin === undefined ? {} : { stdin })

interface ListedRun {
  email: string
  status: string
  reason: string | null
}

const runs = async (): Promise<ListedRun[]> => (await run(['journeys', 'runs', 'Won over'])).json.runs

test('a journey of several days, with an advanced clock: one contact reaches the end, another meets an exit rule', async () => {
  const list = (await run(['lists', 'create', '--name', 'Leads'])).json
  const customers = (await run(['lists', 'create', '--name', 'Customers'])).json
  for (const name of ['ada', 'bob']) {
    const contact = { listId: list.id, email: `${name}@example.com`, fields: { name, plan: 'pro' } }
    await call('POST', '/contacts', contact)
  }
  const [pipeline] = (await call('GET', '/pipelines')).pipelines
  const stage = (name: string) => pipeline!.stages.find((one) => one.name === name)!.id
  expect((await run(['journeys', 'apply', '-f', '-'], definition)).status).toBe(0)
  await call('POST', '/webhooks', { url: `${receiver.url}/hook`, event: 'journey.completed' })
  const deals: string[] = []
  for (const name of ['ada', 'bob']) {
    const { deal } = await call('POST', '/deals', { title: name, email: `${name}@example.com` })
    deals.push(deal.id)
    await call('PATCH', `/deals/${deal.id}`, { stageId: stage('Qualified') })
  }
  await eventually(async () => (await runs()).every(({ status }) => status === 'waiting'))
  await call('PATCH', `/deals/${deals[1]}`, { stageId: stage('Lost') })
  expect((await run(['clock', 'advance', '2d'])).status).toBe(0)
  const [delivery] = await receiver.arrived(1)
  const event = JSON.parse(String(delivery!.body))
  expect(event).toMatchObject({
    type: 'journey.completed',
    data: { journey: { name: 'Won over' }, contact: { email: 'ada@example.com', fields: { qualified: 'yes, ada' } } },
  })
  const days = (event.data.completedAt - event.data.enteredAt) / 86_400_000
  expect(days).toBeGreaterThanOrEqual(2)
  expect(days).toBeLessThan(2.01)
  const { contacts } = await call('GET', `/contacts?email=ada@example.com&listId=${customers.id}`)
  expect(contacts).toHaveLength(1)
  expect((await call('GET', `/contacts?email=bob@example.com&listId=${customers.id}`)).contacts).toEqual([])
  const ends = Object.fromEntries((await runs()).map(({ email, status, reason }) => [email, [status, reason]]))
  expect(ends).toEqual({
    'ada@example.com': ['completed', null],
    'bob@example.com': ['exited', 'exit rule: deal-lost'],
  })
  await run(['clock', 'advance', '1w'])
  // A run that starts now shows that the engine has worked since.
  await call('POST', '/contacts', { listId: list.id, email: 'cem@example.com', fields: { name: 'cem', plan: 'pro' } })
  const { deal } = await call('POST', '/deals', { title: 'cem', email: 'cem@example.com' })
  await call('PATCH', `/deals/${deal.id}`, { stageId: stage('Qualified') })
  await eventually(async () =>
    (await runs()).some(({ email, status }) => email === 'cem@example.com' && status === 'waiting'),
  )
  expect(receiver.requests).toHaveLength(1)
})
