import { expect, test } from 'vitest'
import { useApp } from '../support/app.ts'
import { eventually } from '../support/deliveries.ts'
import { holdUp } from '../support/hold.ts'
import { startJob } from '../support/jobs.ts'
import { sendingAccount } from '../support/messages.ts'
import { hour } from '../webinars/support.ts'

const t = useApp({ env: { SVC_SMTP_URL: 'smtp://127.0.0.1:9' }, development: true })

test('of two threads that send reminders of bookings one is killed: each booking has one reminder', async () => {
  const people = 300
  const account = await sendingAccount(t)
  const one = await startJob(t, 'mail')
  await t.app.sql(
    `insert into bookings (account_id, id, project_id, message_id, block_id, status, title, start_at, end_at, timezone, name, email,
       sequence, remind_at, created_at, updated_at)
     select $1, 'bkg_' || n, 'prj_1', 'msg_' || n, 'call', 'confirmed', 'A call', $2::timestamptz + interval '1 hour',
       $2::timestamptz + interval '2 hours', 'UTC', 'P', 'p' || n || '@people.example', 0, $2, $2, $2
     from generate_series(1, $3) n`,
    [account.id, new Date(t.app.now().getTime() + hour), people],
  )
  const reminders = () =>
    t.app.sql<{ key: string }>(`select key from messages where account_id = $1 and key like 'booking-reminder:%'`, [
      account.id,
    ])
  const held = await holdUp(t, 'insert on messages', { after: people / 2 })
  await t.advance(hour)
  await held.reached()
  await startJob(t, 'mail')
  await one.kill()
  await held.end()
  const unscheduled = () =>
    t.app.sql('select from bookings where account_id = $1 and remind_at is not null', [account.id])
  await eventually(async () => (await unscheduled()).length === 0)
  const keys = (await reminders()).map(({ key }) => key)
  expect(new Set(keys).size).toBe(people)
  expect(keys).toHaveLength(people)
})
