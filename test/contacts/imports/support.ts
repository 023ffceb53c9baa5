import { once } from 'node:events'
import type { TestAccount, TestApp } from '../../support/app.ts'
import { startSvc } from '../../support/cli.ts'
import { eventually } from '../../support/eventually.ts'
import { holdUp } from '../../support/hold.ts'

/** The counts of an import, as the command prints them. */
export const counted = (created: number, updated: number, unchanged: number, skipped: number, rejected: number) => ({
  created,
  updated,
  unchanged,
  skipped,
  rejected,
  rows: created + updated + unchanged + skipped + rejected,
})

/** A file of distinct people. */
export const people = (count: number, from = 0) => {
  let text = 'email,name,note\n'
  for (let i = from; i < from + count; i++) text += `p${i}@example.org,Person ${i},"a, ""b"" and ${i}"\n`
  return text
}

/** Starts the import of a file as a process, and ends it while it writes its fourth batch; returns its id and how it ended. */
export const interruptImport = async (
  t: TestApp,
  { id: accountId }: TestAccount,
  path: string,
  signal: 'SIGKILL' | 'SIGINT',
  ...flags: string[]
) => {
  const args = ['contacts', 'import', path, '--list', 'L', '--create-list', '--account', accountId, ...flags]
  const held = await holdUp(t, 'update on imports', { when: 'new.rows_done > 1500' })
  const child = startSvc(t, args)
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (text) => {
    log += text
  })
  const ended = once(child, 'close')
  const read = async () =>
    (
      await t.app.sql<{ id: string; rows: number; state: string }>(
        'select id, rows_done as rows, status as state from imports where account_id = $1',
        [accountId],
      )
    )[0]
  const early = ended.then(() => Promise.reject(new Error(`It ended too early: ${log}`)))
  early.catch(() => {})
  await Promise.race([held.reached(), early])
  child.kill(signal)
  await (signal === 'SIGKILL' ? held.end() : held.release())
  const [status] = await ended
  // The server ends the sessions of a killed process a moment later, and may commit one more batch by then.
  const sessions = 'select from pg_stat_activity where datname = current_database() and application_name like $1'
  await eventually(async () => (await t.app.sql(sessions, [`svc cli ${child.pid}@%`])).length === 0)
  return { status: status as number | null, log, ...(await read())! }
}
