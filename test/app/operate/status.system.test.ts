import { hostname } from 'node:os'
import { afterAll, expect, test } from 'vitest'
import { threads } from '../../../src/app/schedule.ts'
import { useApp } from '../../support/app.ts'
import { startSvc, svc } from '../../support/cli.ts'
import { type Daemon, startDaemon } from '../../support/daemon.ts'
import { eventually } from '../../support/deliveries.ts'

const daemons: Daemon[] = []

const t = useApp({ env: { SVC_SMTP_URL: 'smtp://127.0.0.1:9' }, development: true })
afterAll(() => Promise.all(daemons.map((daemon) => daemon.kill('SIGKILL'))))

const status = async () => {
  const ran = await svc(t, ['status', '--json'])
  expect(ran).toMatchObject({ status: 0, stderr: '' })
  return ran.json
}

test('daemons and their jobs are detected by their connections, each separately, and disappear when they end', async () => {
  daemons.push(...(await Promise.all([startDaemon(t), startDaemon(t, { args: ['serve', '--no-jobs'] })])))
  const [both, api] = daemons.map(({ pid }) => `${pid}@${hostname()}`)
  const queueJobs = threads.filter(({ interval }) => !interval).map(({ name }) => name)
  await eventually(async () => {
    const seen = (await status()).daemons
    const of = (process?: string) => seen.find((daemon: { process: string }) => daemon.process === process)
    return queueJobs.every((job) => of(both)?.jobs.includes(job)) && of(api)
  })
  const seen = (await status()).daemons
  expect(seen).toHaveLength(2)
  for (const daemon of seen) expect(daemon).toMatchObject({ api: true, connectedAt: expect.any(Number), stalled: [] })
  const { jobs } = (await svc(t, ['jobs', 'status', '--json'])).json
  expect(jobs.map(({ name }: { name: string }) => name)).toEqual(threads.map(({ name }) => name).toSorted())
  for (const job of jobs) {
    if (job.name === 'housekeeping') continue
    expect(job).toMatchObject({ every: null, processes: [{ process: both, connectedAt: expect.any(Number) }] })
  }
  expect(jobs.find(({ name }: { name: string }) => name === 'mail').queue).toEqual({
    queue: 'sends',
    depth: 0,
    oldestSeconds: 0,
    pausedAt: null,
  })
  expect((await svc(t, ['jobs', 'status'])).stdout).toMatch(new RegExp(`^deliveries\\t${both}\\t`, 'm'))
  await Promise.all(daemons.splice(0).map((daemon) => daemon.kill('SIGKILL')))
  await eventually(async () => (await status()).daemons.length === 0)
  expect((await svc(t, ['jobs', 'status'])).stdout).toMatch(/^deliveries\tnone\t/m)
})

test('--watch repeats the status until it is stopped', async () => {
  const child = startSvc(t, ['status', '--watch', '--json'])
  let shown = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    shown += text
  })
  await eventually(() => shown.trim().split('\n').length === 2)
  const ended = new Promise((resolve) => child.once('close', resolve))
  child.kill('SIGINT')
  expect(await ended).toBe(130)
  for (const line of shown.trim().split('\n')) expect(JSON.parse(line)).toMatchObject({ daemons: [] })
})

test('the jobs of a frozen daemon are stalled after 15 s until it continues; those of other daemons are not', async () => {
  const [frozen, other] = await Promise.all([startDaemon(t), startDaemon(t)])
  daemons.push(frozen, other)
  const queueJobs = threads.filter(({ interval }) => !interval).map(({ name }) => name)
  const viewOf = async ({ pid }: Daemon) =>
    (await status()).daemons.find(({ process }: { process: string }) => process === `${pid}@${hostname()}`)
  const stalledOf = async (daemon: Daemon) => (await viewOf(daemon))?.stalled
  await eventually(async () => {
    const { jobs = [] } = (await viewOf(frozen)) ?? {}
    return queueJobs.every((job) => jobs.includes(job))
  })
  process.kill(frozen.pid, 'SIGSTOP')
  try {
    await eventually(async () => (await stalledOf(frozen))?.length === queueJobs.length)
    expect([await stalledOf(frozen), await stalledOf(other)]).toEqual([queueJobs.toSorted(), []])
    expect((await svc(t, ['status'])).stdout).toContain('deliveries (stalled), journeys (stalled), mail (stalled)')
  } finally {
    process.kill(frozen.pid, 'SIGCONT')
  }
  await eventually(async () => (await stalledOf(frozen))?.length === 0)
})
