import type { CommandSet } from '../cli/command.ts'
import { readInput } from '../cli/input.ts'
import type { Column } from '../cli/output.ts'
import { Problem } from '../lib/problem.ts'
import type { DomainRecord, DomainView, SenderView } from './messages.ts'

const senderColumns: Column<SenderView>[] = [
  ['ID', (sender) => sender.id],
  ['EMAIL', (sender) => sender.email],
  ['NAME', (sender) => sender.name],
  ['REPLY TO', (sender) => sender.replyTo],
  ['DEFAULT', (sender) => (sender.isDefault ? 'yes' : null)],
]

const domainColumns: Column<DomainView>[] = [
  ['DOMAIN', (domain) => domain.domain],
  ['STATUS', (domain) => domain.status],
  ['FOUND', ({ records }) => records.flatMap(({ purpose, found }) => (found ? purpose : [])).join(' ')],
]

const recordColumns: Column<DomainRecord>[] = [
  ['FOR', (record) => record.purpose],
  ['FOUND', (record) => (record.found ? 'yes' : 'no')],
  ['TYPE', (record) => record.type],
  ['NAME', (record) => record.name],
  ['VALUE', (record) => record.value],
]

interface RelayFlags {
  url?: string
  passwordFile?: string
  bounceAddress?: string
}

const relay: CommandSet = (cli) => {
  const noun = cli.noun('relay')

  noun
    .command('set')
    .description('Use a relay of the account’s own instead of the platform’s')
    .option('--url <url>', 'smtp[s]://[user@]host:port; STARTTLS is used where smtp:// offers it')
    .option('--password-file <file|->', 'the password, from a file or standard input')
    .option('--bounce-address <email>', 'where delivery reports go; + and the message are added before its @')
    .action(
      cli.run(async ({ app, out, require, work }, flags: RelayFlags) => {
        const { url } = await require({ url: flags.url })
        const { passwordFile, bounceAddress = null } = flags
        const password =
          passwordFile === undefined ? null : (await readInput(passwordFile, '--password-file')).replace(/\r?\n$/, '')
        if (password === '') throw new Problem('usage', '--password-file holds no password')
        const { setRelay } = await import('./messages.ts')
        out.one(await work((w) => setRelay(app, w, { url, password, bounceAddress })))
      }),
    )

  noun
    .command('show', { isDefault: true })
    .description('Show how the account’s mail leaves')
    .action(
      cli.run(async ({ app, out, work }) => {
        const { showRelay } = await import('./messages.ts')
        out.one(await work((w) => showRelay(app, w)))
      }),
    )

  noun
    .command('test')
    .description('Greet the relay and sign in; with --to also hand a small mail over')
    .option('--to <email>', 'who gets the mail')
    .action(
      cli.run(async ({ app, account, actor, out, exit }, { to = null }: { to?: string | null }) => {
        const { testRelay } = await import('./messages.ts')
        const error = await testRelay(app, (await account()).id, actor, to)
        out.one({ ok: error === null, ...(error !== null && { error }) })
        if (error !== null) exit(1)
      }),
    )

  noun
    .command('unset')
    .description('Use the platform’s relay again')
    .option('--yes', 'do it without asking')
    .option('--dry-run', 'say what would happen')
    .action(
      cli.run(async ({ out, work, confirm }, options: { yes?: boolean; dryRun?: boolean }) => {
        if (!(await confirm('forget the account’s relay and its password', options))) return
        const { unsetRelay } = await import('./messages.ts')
        out.one({ ok: true, removed: await work(unsetRelay) })
      }),
    )
}

const senders: CommandSet = (cli) => {
  const noun = cli.noun('senders')

  noun
    .command('add')
    .description('Add a sender; the first one is the default')
    .option('--email <email>', 'the From address')
    .option('--name <name>', 'the From name')
    .option('--reply-to <email>', 'where answers go')
    .action(
      cli.run(async ({ out, require, work }, flags: { email?: string; name?: string; replyTo?: string }) => {
        const { email, name } = await require({ email: flags.email, name: flags.name })
        const { addSender } = await import('./messages.ts')
        out.one(await work((w) => addSender(w, { email, name, replyTo: flags.replyTo })))
      }),
    )

  noun
    .command('list', { isDefault: true })
    .description('List the senders')
    .action(
      cli.run(async ({ out, work }) => {
        const { listSenders } = await import('./messages.ts')
        await out.list('senders', await work(listSenders), senderColumns)
      }),
    )

  noun
    .command('default')
    .description('Make a sender the one that mail is from where nothing is said')
    .argument('<id|email>')
    .action(
      cli.run(async ({ out, work }, ref: string) => {
        const { makeDefaultSender } = await import('./messages.ts')
        out.one(await work((w) => makeDefaultSender(w, ref)))
      }),
    )

  noun
    .command('delete')
    .description('Delete a sender')
    .argument('<id|email>')
    .option('--yes', 'do it without asking')
    .option('--dry-run', 'say what would happen')
    .action(
      cli.run(async ({ out, work, confirm }, ref: string, options: { yes?: boolean; dryRun?: boolean }) => {
        const { deleteSender, findSender } = await import('./messages.ts')
        const { id, email } = await work((w) => findSender(w, ref))
        if (!(await confirm(`delete the sender ${email}`, options, { id, email }))) return
        await work((w) => deleteSender(w, id))
        out.one({ ok: true, id })
      }),
    )
}

const domains: CommandSet = (cli) => {
  const noun = cli.noun('domains')

  noun
    .command('add')
    .description('Add a domain, and show the DNS records that it needs')
    .argument('<domain>')
    .action(
      cli.run(async ({ app, account, actor, out }, name: string) => {
        const { addDomain } = await import('./messages.ts')
        const domain = await addDomain(app, (await account()).id, actor, name)
        if (out.format === 'json' || out.format === 'jsonl') return out.one(domain)
        await out.list('records', domain.records, recordColumns)
        out.note(`Publish these records, then: svc domains verify ${domain.domain}`)
      }),
    )

  noun
    .command('list', { isDefault: true })
    .description('List the domains')
    .action(
      cli.run(async ({ app, out, work }) => {
        const { listDomains } = await import('./messages.ts')
        const rows = await work((w) => listDomains(app, w))
        await out.list('domains', rows, domainColumns, null, { id: ({ domain }) => domain })
      }),
    )

  noun
    .command('show')
    .description('Show a domain with its DNS records')
    .argument('<domain>')
    .action(
      cli.run(async ({ app, out, work }, name: string) => {
        const { showDomain } = await import('./messages.ts')
        const domain = await work((w) => showDomain(app, w, name))
        if (out.format === 'json' || out.format === 'jsonl') return out.one(domain)
        await out.list('records', domain.records, recordColumns)
      }),
    )

  noun
    .command('verify')
    .description('Look the records up; exit 5 while the domain is pending')
    .argument('<domain>')
    .action(
      cli.run(async ({ app, account, actor, out, exit }, name: string) => {
        const { verifyDomain } = await import('./messages.ts')
        const domain = await verifyDomain(app, (await account()).id, actor, name)
        if (out.format === 'json' || out.format === 'jsonl') out.one(domain)
        else {
          await out.list('records', domain.records, recordColumns)
          out.note(`${domain.domain} is ${domain.status}.`)
        }
        if (domain.status === 'pending') exit(5)
      }),
    )
}

/** `svc relay`, `svc senders` and `svc domains`: how an account's mail leaves, and whom it is from. */
export const commands: CommandSet = (cli) => {
  relay(cli)
  senders(cli)
  domains(cli)
}
