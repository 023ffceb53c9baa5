import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ok, type TestAccount, useApp } from '../../support/app.ts'
import { svc } from '../../support/cli.ts'
import { untilLocked } from '../../support/database.ts'
import { eventually } from '../../support/eventually.ts'
import { prepareRun } from '../support.ts'
import { counted, people } from './support.ts'

let account: TestAccount
let folder: string

const t = useApp()
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-import-'))
  // The domain's DNS result is cached, so that no test waits for DNS.
  await t.app.sql(`insert into mail_domains values ('example.org', 'mx', now() + interval '1 day')`)
})
afterAll(() => rm(folder, { recursive: true, force: true }))
beforeEach(async () => {
  account = await t.account()
})

const file = async (content: string | Buffer, name = 'contacts.csv'): Promise<string> => {
  const path = join(folder, name)
  await writeFile(path, content)
  return path
}

const run = (args: string[], stdin?: string | Buffer) =>
  svc(t, ['--account', account.id, ...args], stdin === undefined ? {} : { stdin })

const importFile = async (content: string | Buffer, ...args: string[]) =>
  run(['contacts', 'import', await file(content), '--list', 'L', '--create-list', '--json', ...args])

interface Row {
  email: string
  fields: Record<string, string>
}
const contacts = (list = 'L') =>
  t.app.sql<Row>(
    `select c.email, c.fields from contacts c join contact_lists l on l.id = c.list_id
     where c.account_id = $1 and l.name = $2 order by c.email`,
    [account.id, list],
  )

const subscribe = () =>
  t.request('POST', '/webhooks', {
    key: account.key,
    body: { url: 'https://hooks.example.org/', events: ['contact.created', 'contact.updated'] },
  })

describe('accepted files', () => {
  test.each<[string, string | Buffer, string[]]>([
    ['commas and LF', 'email,name\na@example.org,Ann\n', []],
    ['no line end at its end', 'email,name\na@example.org,Ann', []],
    ['CRLF and a byte order mark', '\ufeffemail,name\r\na@example.org,Ann\r\n', []],
    ['semicolons', 'email;name\na@example.org;Ann\n', []],
    ['tabs', 'email\tname\na@example.org\tAnn\n', []],
    ['blank lines', 'email,name\n\n\na@example.org,Ann\n\n', []],
    ['an address in capitals, surrounded by blanks', 'E-Mail,name\n  A@Example.ORG ,Ann\n', []],
    ['UTF-16 with a byte order mark', Buffer.from('\ufeffemail\tname\r\na@example.org\tAnn\r\n', 'utf16le'), []],
  ])('%s', async (_, content, args) => {
    const ran = await importFile(content, ...args)
    expect(ran).toMatchObject({ status: 0, json: counted(1, 0, 0, 0, 0) })
    expect(await contacts()).toEqual([{ email: 'a@example.org', fields: { name: 'Ann' } }])
  })

  test('quoted values may contain commas, quotes and line ends', async () => {
    await importFile('email,note\r\na@example.org,"one, ""two""\r\nthree"\r\n')
    expect(await contacts()).toEqual([{ email: 'a@example.org', fields: { note: 'one, "two"\r\nthree' } }])
  })

  test('Latin-1 is read with --encoding latin1, and rejected row by row without', async () => {
    const content = Buffer.from('email,name\na@example.org,Jos\xe9 \x80\nb@example.org,Ann\n', 'latin1')
    expect(await importFile(content)).toMatchObject({ status: 5, json: counted(1, 0, 0, 0, 1) })
    expect(await importFile(content, '--encoding', 'latin1')).toMatchObject({ status: 0, json: counted(1, 0, 1, 0, 0) })
    expect((await contacts())[0]?.fields).toEqual({ name: 'José €' })
  })

  test('the file name - reads standard input', async () => {
    const ran = await run(['contacts', 'import', '-', '--list', 'L', '--create-list', '--json'], people(3))
    expect(ran).toMatchObject({ status: 0, json: counted(3, 0, 0, 0, 0) })
  })

  test.each<[string, string, string[], RegExp]>([
    ['an empty file', '', [], /empty/],
    ['no column for the address', 'mail address,name\n', [], /--map.*|columns are: mail address, name/s],
    [
      'a map with a header that is not there',
      'email,name\n',
      ['--map', 'Name=first'],
      /Name.*columns are: email, name/s,
    ],
    ['an invalid map', 'email,name\n', ['--map', 'name'], /header=field/],
    ['two columns with the same name', 'email,name,name\n', [], /name/],
    ['two columns for one field', 'email,a,b\n', ['--map', 'a=x,b=x'], /x/],
    ['more than 40 columns', `email,${Array.from({ length: 41 }, (_, i) => `c${i}`)}\n`, [], /at most 40 columns/],
    ['an unknown encoding', 'email\n', ['--encoding', 'klingon'], /klingon/],
    ['an unknown conflict rule', 'email\n', ['--on-conflict', 'merge'], /upsert or skip/],
  ])('%s is refused with exit 2, before anything is created', async (_, content, args, sentence) => {
    const ran = await importFile(content, ...args)
    expect(ran).toMatchObject({ status: 2, stdout: '' })
    expect(ran.stderr).toMatch(sentence)
    expect((await run(['lists', '--json'])).json).toEqual({ lists: [] })
    expect((await run(['imports', '--json'])).json).toEqual({ imports: [] })
  })

  test('a missing file and a missing list are exit 3', async () => {
    expect(await run(['contacts', 'import', join(folder, 'none.csv'), '--list', 'L'])).toMatchObject({ status: 3 })
    const ran = await run(['contacts', 'import', await file(people(1)), '--list', 'L'])
    expect(ran.status).toBe(3)
    expect(ran.stderr).toContain('--create-list')
  })
})

describe('mapping', () => {
  test('mapped columns are stored in their field, the others keep their header as name', async () => {
    const ran = await importFile(
      'Work mail,First,"Last, all",City\na@example.org,Ann,Lee,Rome\n',
      '--map',
      'Work mail=email,First=first_name,Last, all=last_name',
    )
    expect(ran.status).toBe(0)
    expect((await contacts())[0]?.fields).toEqual({ first_name: 'Ann', last_name: 'Lee', City: 'Rome' })
    const { lists } = (await run(['lists', '--json'])).json
    expect(lists[0]).toMatchObject({ fields: ['first_name', 'last_name', 'City'], rowCount: 1 })
  })
})

describe('counts', () => {
  test('a repeated address is updated or unchanged, within a batch and across batches; its last values win', async () => {
    let content = 'email,name\nx@example.org,1\nX@example.org,2\nx@example.org ,2\n'
    for (let i = 0; i < 600; i++) content += `f${i}@example.org,n\n`
    content += 'x@example.org,2\nx@example.org,3\n'
    expect(await importFile(content)).toMatchObject({ status: 0, json: counted(601, 3, 1, 0, 0) })
    expect((await contacts()).find((row) => row.email === 'x@example.org')?.fields).toEqual({ name: '3' })
  })

  test('importing the same file again counts all rows as unchanged, writes nothing and fires nothing', async () => {
    await ok(subscribe())
    await importFile(people(700))
    const before = await t.app.sql('select * from contacts where account_id = $1 order by email', [account.id])
    expect(await t.events(account.id)).toHaveLength(700)
    expect(await importFile(people(700))).toMatchObject({ status: 0, json: counted(0, 0, 700, 0, 0) })
    expect(await t.events(account.id)).toHaveLength(700)
    expect(await t.app.sql('select * from contacts where account_id = $1 order by email', [account.id])).toEqual(before)
  })

  test('bad rows are rejected with line and reason, and others are imported; malformed addresses are stored and verified', async () => {
    const content = [
      'email,name',
      'a@example.org,"two\r\nlines"',
      ',nobody',
      `${'x'.repeat(320)}@example.org,long`,
      'b@example.org,nul\0',
      `c@example.org,${'v'.repeat(10_001)}`,
      'd@example.org,one,too many',
      'not an address,kept',
      'e@example.org',
      'f@example.org,"never closed',
      'g@example.org,good',
    ].join('\n')
    const rejects = join(folder, 'bad.csv')
    const ran = await importFile(content, '--rejects', rejects)
    expect(ran).toMatchObject({ status: 5, json: counted(4, 0, 0, 0, 6) })
    expect((await contacts()).map((row) => row.email)).toEqual([
      'a@example.org',
      'e@example.org',
      'g@example.org',
      'not an address',
    ])
    const listed = (await run(['imports', 'rejects', ran.json.id, '--json'])).json
    expect(listed.rejects.map((reject: { line: number }) => reject.line)).toEqual([4, 5, 6, 7, 8, 11])
    expect(listed.rejects[0]).toEqual({ line: 4, email: '', reason: 'no address' })
    const lines = (await readFile(rejects, 'utf8')).split('\r\n')
    expect(lines[0]).toBe('line,email,reason')
    expect(lines[1]).toBe('4,,no address')
    expect(lines).toHaveLength(8)
  })

  test('a rejects file that can not be written is refused, also by a dry run, which creates none', async () => {
    const nowhere = join(folder, 'nowhere', 'bad.csv')
    const contactsFile = join(folder, 'contacts.csv')
    for (const [rejects, error] of [
      [nowhere, `The file ${nowhere} can't be written (ENOENT)`],
      [folder, `The file ${folder} can't be written (EISDIR)`],
      [contactsFile, 'The rejects would overwrite the imported file'],
    ] as const)
      for (const trial of [['--dry-run'], []]) {
        const ran = await importFile(people(3), '--rejects', rejects, ...trial)
        expect(ran).toMatchObject({ status: 2, stdout: '' })
        expect(JSON.parse(ran.stderr).error).toBe(error)
      }
    const rejects = join(folder, 'none.csv')
    expect(await importFile(people(3), '--rejects', rejects, '--dry-run')).toMatchObject({ status: 0 })
    await expect(readFile(rejects)).rejects.toThrow('ENOENT')
    expect(await contacts()).toEqual([])
  })

  test('beyond the plan new addresses are skipped, with their repeats, and the import ends with exit 5', async () => {
    account = await t.account({ plan: 'free' })
    const content = `${people(1010)}p1009@example.org,Other,\np0@example.org,Other,\n`
    const dry = await importFile(content, '--dry-run')
    expect(dry).toMatchObject({ status: 5, json: counted(1000, 1, 0, 11, 0) })
    expect(await importFile(content)).toMatchObject({ status: 5, json: counted(1000, 1, 0, 11, 0) })
  })

  test('--on-conflict skip leaves existing contacts unchanged, and counts them as unchanged', async () => {
    await importFile('email,name\na@example.org,old\n')
    const content = 'email,name\na@example.org,new\nb@example.org,first\nb@example.org,second\n'
    expect(await importFile(content, '--on-conflict', 'skip')).toMatchObject({
      status: 0,
      json: counted(1, 0, 2, 0, 0),
    })
    expect((await contacts()).map((row) => row.fields.name)).toEqual(['old', 'first'])
  })
})

describe('events', () => {
  test('each created and changed contact fires once; --no-events fires none', async () => {
    await ok(subscribe())
    await importFile('email,name\na@example.org,1\nb@example.org,1\nb@example.org,2\n')
    await importFile('email,name\na@example.org,2\nb@example.org,2\n')
    await importFile('email,name\na@example.org,3\nc@example.org,3\n', '--no-events')
    const events = await t.events<'contact.created' | 'contact.updated'>(account.id)
    expect(events.map(({ type, data }) => [type, data.contact.email, data.contact.fields.name]).sort()).toEqual([
      ['contact.created', 'a@example.org', '1'],
      ['contact.created', 'b@example.org', '2'],
      ['contact.updated', 'a@example.org', '2'],
    ])
  })
})

describe('--dry-run', () => {
  test('shows what an import would do, including events, and writes nothing', async () => {
    await ok(subscribe())
    await importFile('email,name\na@example.org,1\nb@example.org,1\n')
    const events = await t.events(account.id)
    let content = 'email,name\na@example.org,1\nb@example.org,2\n,none\nc@example.org,1\nc@example.org,2\n'
    for (let i = 0; i < 600; i++) content += `f${i}@example.org,n\n`
    content += 'c@example.org,2\nc@example.org,3\n'
    const dry = await importFile(content, '--dry-run')
    expect(dry).toMatchObject({ status: 5, json: { dryRun: true, ...counted(601, 4, 1, 0, 1) } })
    expect(dry.json.events).toEqual({ 'contact.created': 601, 'contact.updated': 2 })
    expect(await contacts()).toHaveLength(2)
    expect(await t.events(account.id)).toEqual(events)
    expect((await run(['imports', '--json'])).json.imports).toHaveLength(1)
    expect((await importFile(content)).json).toMatchObject(counted(601, 4, 1, 0, 1))
    expect(await t.events(account.id)).toHaveLength(events.length + 603)
  })

  test.each([
    ['status', 'email,status\na@example.org,blocklisted\nb@example.org,enabled\n'],
    ['unsubscribed', 'email,unsubscribed\na@example.org,true\nb@example.org,false\n'],
    ['UNSUB_TIME', 'email,UNSUB_TIME\na@example.org,2026-01-01 10:00:00\nb@example.org,\n'],
  ])(
    'warns of contacts that have opted out according to %s, because an import makes them active',
    async (column, content) => {
      const dry = await importFile(content, '--dry-run')
      expect(dry).toMatchObject({ status: 0, json: counted(2, 0, 0, 0, 0) })
      expect(dry.stderr).toContain(`The column ${column} says that 1 row has opted out`)
      expect(dry.stderr).toContain('svc suppressions import')
    },
  )

  test('does not warn of other columns', async () => {
    const dry = await importFile('email,status,unsubscribed\na@example.org,customer,no\n', '--dry-run')
    expect(dry.stderr).not.toContain('opted out')
  })

  test('names the events that nobody gets, instead of counting 0', async () => {
    const path = await file(people(2))
    const dry = (...flags: string[]) =>
      run(['contacts', 'import', path, '--list', 'L', '--create-list', '--dry-run', ...flags])
    expect((await dry()).stdout).toMatch(/^contact\.created\tno subscriber\ncontact\.updated\tno subscriber\n/m)
    await ok(subscribe())
    expect((await dry()).stdout).toMatch(/^contact\.created\t2\ncontact\.updated\t0\n/m)
    expect((await dry('--no-events')).stdout).toMatch(/^contact\.created\tnot fired\n/m)
  })

  test('creates no list', async () => {
    expect(await importFile(people(2), '--dry-run')).toMatchObject({ status: 0, json: counted(2, 0, 0, 0, 0) })
    expect((await run(['lists', '--json'])).json).toEqual({ lists: [] })
  })
})

describe('interrupted', () => {
  const rows = 3_000

  /** Stops an import after a batch; returns its id and the number of rows done. */
  const stopped = async (path: string) => {
    const stop = new AbortController()
    const { id, run } = await prepareRun(t, account.id, { list: 'L', path })
    const view = await run({ signal: stop.signal, onBatch: () => stop.abort() })
    expect([view.status, view.rows > 0, view.rows < rows]).toEqual(['stopped', true, true])
    return { id, rows: view.rows }
  }
  /** Holds the row of an import, for which each batch waits. */
  const hold = async (id: string) => {
    const holder = await t.app.database.connect()
    await holder.query(`begin; select from imports where id = '${id}' for update`)
    return () => holder.end()
  }

  test('a resume continues after the last complete batch: each row and event once', async () => {
    await ok(subscribe())
    const before = await stopped(await file(people(rows), 'stopped.csv'))
    expect(await contacts()).toHaveLength(before.rows)
    const ran = await run(['imports', 'resume', before.id, '--json'])
    expect(ran).toMatchObject({ status: 0, json: { id: before.id, ...counted(rows, 0, 0, 0, 0) } })
    const emails = (await t.events<'contact.created' | 'contact.updated'>(account.id)).map(
      ({ data }) => data.contact.email,
    )
    expect([emails.length, new Set(emails).size]).toEqual([rows, rows])
    const again = await run(['imports', 'resume', before.id, '--json'])
    expect(again).toMatchObject({ status: 0, json: { id: before.id, ...counted(rows, 0, 0, 0, 0) } })
  })

  test('of two concurrent resumes one writes the rows, the other stops with a conflict', async () => {
    const { id } = await stopped(await file(people(rows), 'twice.csv'))
    // Both wait at the same first batch, the first one for as long as the second one takes to start.
    const release = await hold(id)
    const patient = { env: { DATABASE_URL: `${t.url}?options=-c%20lock_timeout%3D0` } }
    const resume = () => svc(t, ['--account', account.id, 'imports', 'resume', id, '--json'], patient)
    const resumes = Promise.all([resume(), resume()])
    await untilLocked(t.app.database, 2)
    await release()
    const ends = (await resumes).toSorted((a, b) => a.status! - b.status!)
    expect(ends.map((ran) => ran.status)).toEqual([0, 6])
    expect(ends[0]!.json).toMatchObject(counted(rows, 0, 0, 0, 0))
    expect(ends[1]!.stderr).toContain('Another process is running the import')
    const done = await run(['imports', 'resume', id, '--json'])
    expect(done).toMatchObject({ status: 0, json: counted(rows, 0, 0, 0, 0) })
    expect(await contacts()).toHaveLength(rows)
  })

  test('a lost database ends it with exit 7 and a hint, and nothing is lost', async () => {
    const { id } = await stopped(await file(people(rows), 'away.csv'))
    const release = await hold(id)
    let isEnded = false
    const resumed = run(['imports', 'resume', id]).finally(() => {
      isEnded = true
    })
    await untilLocked(t.app.database, 1)
    // Repeated, because a single lost connection would be replaced.
    await eventually(async () => {
      await t.app.sql(`select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name like 'svc cli %'`)
      return isEnded
    })
    const { status, stderr } = await resumed
    expect([status, stderr]).toEqual([7, expect.stringContaining(`svc imports resume ${id}`)])
    await release()
    expect(await run(['imports', 'resume', id, '--json'])).toMatchObject({ status: 0, json: counted(rows, 0, 0, 0, 0) })
    expect(await contacts()).toHaveLength(rows)
  })

  test('a changed file is a conflict, a missing one is exit 3, and the new path of a moved one can be given', async () => {
    const path = await file(people(rows), 'moving.csv')
    const { id } = await stopped(path)
    await appendFile(path, 'late@example.org,Late,\n')
    const changed = await run(['imports', 'resume', id])
    expect(changed).toMatchObject({ status: 6, stdout: '' })
    expect(changed.stderr).toContain('changed')
    await rm(path)
    expect(await run(['imports', 'resume', id])).toMatchObject({ status: 3, stdout: '' })
    const moved = await file(people(rows), 'moved.csv')
    expect(await run(['imports', 'resume', id, moved, '--json'])).toMatchObject({
      status: 0,
      json: counted(rows, 0, 0, 0, 0),
    })
  })
})

test('columns named like properties of Object.prototype are normal columns, mapped or not', async () => {
  const csv = 'email,constructor,valueOf\na@example.org,1,2\na@example.org,1,3\nb@example.org,,\n'
  const ran = await importFile(csv, '--map', 'valueOf=toString')
  expect(ran.status).toBe(0)
  expect(await contacts()).toEqual([
    { email: 'a@example.org', fields: { constructor: '1', toString: '3' } },
    { email: 'b@example.org', fields: { constructor: '', toString: '' } },
  ])
})

test('a reject whose address is cut inside an emoji does not end the import', async () => {
  const ran = await importFile(`email\n${'x'.repeat(639)}🎁🎁@example.org\nok@example.org\n`)
  expect([ran.status, ran.json]).toMatchObject([5, counted(1, 0, 0, 0, 1)])
  expect((await run(['imports', 'rejects', ran.json.id, '--json'])).json.rejects).toEqual([
    { line: 2, email: 'x'.repeat(639), reason: 'address over 320 characters' },
  ])
})

test('rejects never overwrite the imported file', async () => {
  const path = await file(people(2), 'own.csv')
  const ran = await run(['contacts', 'import', path, '--list', 'L', '--create-list', '--rejects', path])
  expect(ran.status).toBe(2)
  expect(await readFile(path, 'utf8')).toBe(people(2))
})

test('an import is shown with its counts, only to its own account', async () => {
  const { id } = (await importFile(people(2))).json
  const shown = (await run(['imports', 'show', id, '--json'])).json
  expect(shown).toMatchObject({ id, status: 'done', ...counted(2, 0, 0, 0, 0) })
  const other = await t.account()
  for (const args of [
    ['show', id],
    ['resume', id],
    ['rejects', id],
  ]) {
    expect(await svc(t, ['--account', other.id, 'imports', ...args])).toMatchObject({ status: 3, stdout: '' })
  }
})
