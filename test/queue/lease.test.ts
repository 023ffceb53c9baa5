import { expect, test } from 'vitest'
import { schedulers } from '../../src/app/schedule.ts'
import { createBeats } from '../../src/lib/beats.ts'
import { type LeaseEvents, openLease } from '../../src/queue/lease.ts'
import { followLooks, reportLooks } from '../../src/queue/looks.ts'
import { useApp } from '../support/app.ts'

const t = useApp()

const open = (job: string, events: Partial<LeaseEvents> = {}) => {
  const died: number[] = []
  const lease = openLease(t.app.database, { job, queue: 'sends' }, [], {
    notice() {},
    connected() {},
    beat() {},
    found: (found) => reportLooks(t.app, found),
    async died(ids) {
      died.push(...ids)
      return true
    },
    ...events,
  })
  return { lease, died }
}
const ready = (lease: { id: number | null }) => expect.poll(() => lease.id).not.toBeNull()
const ids = async (job: string) =>
  (await t.app.sql<{ id: number }>('select id from workers where job = $1 order by id', [job])).map(({ id }) => id)
const isEmpty = async () => true

test('a worker that loses its connection keeps its id, and the other workers consider it alive', async () => {
  let beats = 0
  const [one, two] = [open('keeps'), open('keeps', { beat: () => void beats++ })]
  await ready(one.lease)
  await ready(two.lease)
  const { id } = one.lease
  await t.app.sql(
    `select pg_terminate_backend(pid) from pg_locks join pg_database d on d.oid = database
     where locktype = 'advisory' and objid = $1 and pid <> pg_backend_pid() and datname = current_database()`,
    [id],
  )
  await expect.poll(() => one.lease.id).toBeNull()
  await ready(one.lease)
  expect(one.lease.id).toBe(id)
  // Each heartbeat of the other worker looks for dead ones.
  const before = beats
  await expect.poll(() => beats).toBeGreaterThan(before + 2)
  expect(two.died).toEqual([])
  await Promise.all([one.lease.close(isEmpty), two.lease.close(isEmpty)])
  expect(await ids('keeps')).toEqual([])
})

test('a worker that leaves with claims is reported dead repeatedly until no claim is left', async () => {
  const left = open('leaves')
  await ready(left.lease)
  const { id } = left.lease
  await left.lease.close(async () => false)
  expect(await ids('leaves')).toEqual([id])
  let asked = 0
  const other = open('leaves', { died: async () => ++asked > 2 })
  await ready(other.lease)
  await expect.poll(() => ids('leaves')).toEqual([other.lease.id])
  expect(asked).toBe(3)
  await other.lease.close(isEmpty)
})

test('each heartbeat reports to the schedulers of its process whether they have work', async () => {
  await t.app.sql('create table if not exists work_of_one (is_due boolean)')
  let rings = 0
  const look = (scheduler: string) => followLooks(t.app, scheduler, () => void rings++)
  const [one, other] = [look('journeys'), look('results')]
  // As in another thread of the process.
  const elsewhere = { ...t.app, looks: createBeats(schedulers, t.app.looks.memory) }
  let ringsElsewhere = 0
  const same = followLooks(elsewhere, 'journeys', () => void ringsElsewhere++)
  expect(one.isIdle).toBe(false)
  const { lease } = open('looks', { looks: { journeys: 'select is_due from work_of_one limit 1', broadcasts: 'true' } })
  await expect.poll(() => one.isIdle).toBe(true)
  expect([same.isIdle, other.isIdle]).toEqual([true, false])
  expect([rings, ringsElsewhere]).toEqual([0, 0])
  await t.app.sql('insert into work_of_one values (true)')
  await expect.poll(() => rings).toBe(1)
  expect([one.isIdle, same.isIdle, ringsElsewhere]).toEqual([false, false, 1])
  await t.app.sql('update work_of_one set is_due = false')
  await expect.poll(() => one.isIdle).toBe(true)
  // Without heartbeats, the schedulers ask themselves.
  await lease.close(isEmpty)
  await expect.poll(() => one.isIdle).toBe(false)
  expect(rings).toBe(1)
  for (const followed of [one, other, same]) followed.close()
})

test('work rings once, however old the answer before it is', () => {
  const ports = { ...t.app, looks: createBeats(['journeys']) }
  // A beat at the start of the machine.
  new BigInt64Array(ports.looks.memory)[0] = 1n
  let rings = 0
  const look = followLooks(ports, 'journeys', () => void rings++)
  expect(look.isIdle).toBe(false)
  reportLooks(ports, { journeys: true })
  reportLooks(ports, { journeys: true })
  expect(rings).toBe(1)
  look.close()
})

test('heartbeats continue while what they look for is locked', async () => {
  await t.app.sql('create table if not exists locked_work (is_due boolean)')
  const look = followLooks(t.app, 'messages', () => {})
  let beats = 0
  const looks = { messages: 'select is_due from locked_work limit 1' }
  const { lease } = open('locked', { looks, beat: () => void beats++ })
  await expect.poll(() => look.isIdle).toBe(true)
  const locked = Promise.withResolvers<void>()
  const done = Promise.withResolvers<void>()
  const locking = t.app.database.transaction(async (sql) => {
    await sql('set local idle_in_transaction_session_timeout = 0')
    await sql('lock table locked_work')
    locked.resolve()
    await done.promise
  })
  try {
    await locked.promise
    const before = beats
    await expect.poll(() => beats).toBeGreaterThan(before + 2)
    expect(lease.id).not.toBeNull()
    expect(look.isIdle).toBe(false)
  } finally {
    done.resolve()
    await locking
  }
  await lease.close(isEmpty)
  look.close()
})

test('a worker whose row is deleted starts again with a new id', async () => {
  const { lease } = open('again')
  await ready(lease)
  const { id } = lease
  await t.app.sql('delete from workers where id = $1', [id])
  await expect.poll(() => lease.id ?? id).not.toBe(id)
  await lease.close(isEmpty)
})
