import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startSvc } from '../../support/cli.ts'
import { Unanswered } from './api.ts'
import type { Act, Writing } from './writers.ts'

/** More than an import writes in one transaction. */
const fileRows = 600
/** Small enough that any two files have many addresses in common. */
const addresses = 900

/** Exit statuses after which the import is continued. 7: the database was unavailable; null: the process was killed. */
const passing: readonly (number | null)[] = [7, null]

/** Runs `svc contacts import` in a separate process and continues it with `svc imports resume` until it is done. */
export const importing: Act = async (writing, name, n) => {
  const { world, ways, ledger, random, folder, complaints, giveUp } = writing
  const file = join(folder, `${name}-${n}.csv`)
  const from = random.between(0, addresses - fileRows)
  const numbers = random.shuffled(Array.from({ length: fileRows }, (_, i) => from + i))
  await writeFile(file, `email,color\n${numbers.map((i) => `imported-${i}@chaos.example,c${i % 5}\n`).join('')}`)

  let id: string | undefined
  for (;;) {
    const begin = ['contacts', 'import', file, '--list', world.lists.imported]
    const own = ['--account', world.accountId, '--json']
    const args = [...(id ? ['imports', 'resume', id] : begin), ...own]
    const { status, stdout, stderr } = await run(args, { ...world.env, DATABASE_URL: random.pick(ways) }, writing)
    id ??= /\bimp_\w+/.exec(stderr)?.[0]
    if (status === 0) {
      const { rows, created, updated, unchanged } = JSON.parse(stdout)
      ledger.imports.push({ id: id!, rows, created, updated, unchanged })
      break
    }
    if (!passing.includes(status)) complaints.push(`svc ${args.join(' ')} ended with ${status}: ${stderr}`)
    if (giveUp.aborted) throw new Unanswered(`the import ${id} was never done`)
    await sleep(200)
  }
  for (const i of numbers)
    ledger.contacts.getOrInsert(`${world.lists.imported} imported-${i}@chaos.example`, {
      fields: { color: `c${i % 5}` },
      changes: 0,
    })
}

const run = async (args: string[], env: Record<string, string>, { importers, giveUp }: Writing) => {
  const child = startSvc({ env }, args)
  importers.add(child)
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text) => {
      output[name] += text
    })
  const late = () => child.kill('SIGKILL')
  giveUp.addEventListener('abort', late)
  const [status] = (await once(child, 'close')) as [number | null]
  giveUp.removeEventListener('abort', late)
  importers.delete(child)
  return { status, ...output }
}
