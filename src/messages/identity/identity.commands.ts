import { type CommandSet, type Confirmation, changing, confirmed, examples } from '../../cli/command.ts'
import { passwordQuestion, readSecret } from '../../cli/input.ts'
import type { Column } from '../../cli/output.ts'
import type { DomainRecord, DomainView, SenderView } from '../messages.ts'

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

  changing(
    noun
      .command('set')
      .description('Send the account’s email by its own relay instead of the platform’s')
      .addHelpText(
        'after',
        examples(
          'svc relay set --url smtps://apikey@smtp.example.com:465 --password-file password.txt',
          'svc relay set --url smtp://smtp.example.com:587 --bounce-address bounces@shop.example',
        ),
      )
      .option(
        '--url <url>',
        'the relay: smtp[s]://[user@]host:port; a password requires TLS, unless the URL ends with ?tls=optional',
      )
      .option('--password-file <file|->', 'the password, from a file or standard input')
      .option('--bounce-address <email>', 'address for delivery reports; +<message id> is inserted before its @'),
  ).action(
    cli.run(async ({ app, asks, out, require, work }, flags: RelayFlags) => {
      const { url } = await require(flags, 'url')
      const { passwordFile, bounceAddress = null } = flags
      const password = await readSecret(passwordFile, '--password-file', passwordQuestion(asks, url))
      const { setRelay } = await import('../messages.ts')
      out.one(await work((w) => setRelay(app, w, { url, password, bounceAddress })))
    }),
  )

  noun
    .command('show', { isDefault: true })
    .description('Show the relay that sends the account’s email')
    .addHelpText('after', examples('svc relay show', 'svc relay show --json'))
    .action(
      cli.run(async ({ app, out, work }) => {
        const { showRelay } = await import('../messages.ts')
        out.one(await work((w) => showRelay(app, w)))
      }),
    )

  noun
    .command('test')
    .description('Connect to the relay, sign in and show the TLS version; with --to also send a small email')
    .addHelpText('after', examples('svc relay test', 'svc relay test --to you@example.com'))
    .option('--to <email>', 'the recipient of the test email')
    .action(
      cli.run(async ({ app, account, actor, out, exit }, { to = null }: { to?: string | null }) => {
        const { testRelay } = await import('../messages.ts')
        const { fault, tls } = await testRelay(app, (await account()).id, actor, to)
        const result = { ok: fault === null, tls, ...(fault !== null && { error: fault }) }
        out.one(result, { ...result, tls: tls ?? 'none' })
        if (fault !== null) exit(1)
      }),
    )

  confirmed(
    noun
      .command('unset')
      .description('Use the platform’s relay again')
      .addHelpText('after', examples('svc relay unset --dry-run', 'svc relay unset --yes')),
  ).action(
    cli.run(async ({ app, out, work, confirm }, options: Confirmation) => {
      const then =
        app.config.smtpUrl === null
          ? 'the account can’t send any email then'
          : 'the platform’s relay sends its email then'
      if (!(await confirm(`delete the account’s relay and its password: ${then}`, options))) return
      const { unsetRelay } = await import('../messages.ts')
      out.one({ ok: true, removed: await work(unsetRelay) })
    }),
  )
}

const senders: CommandSet = (cli) => {
  const noun = cli.noun('senders')

  noun
    .command('add')
    .description('Add a sender; the first one becomes the default')
    .addHelpText(
      'after',
      examples(
        'svc senders add --email hello@shop.example --name "The Shop"',
        'svc senders add --email hello@shop.example --name "The Shop" --reply-to support@shop.example',
      ),
    )
    .option('--email <email>', 'the From address')
    .option('--name <name>', 'the From name')
    .option('--reply-to <email>', 'address for replies')
    .action(
      cli.run(async ({ out, require, work }, flags: { email?: string; name?: string; replyTo?: string }) => {
        const { email, name } = await require(flags, 'email', 'name')
        const { addSender } = await import('../messages.ts')
        out.one(await work((w) => addSender(w, { email, name, replyTo: flags.replyTo })))
      }),
    )

  noun
    .command('list', { isDefault: true })
    .description('List the senders')
    .addHelpText('after', examples('svc senders', 'svc senders list --json'))
    .action(
      cli.run(async ({ out, work }) => {
        const { listSenders } = await import('../messages.ts')
        await out.list('senders', await work(listSenders), senderColumns)
      }),
    )

  changing(
    noun
      .command('default')
      .description('Make a sender the default one')
      .addHelpText(
        'after',
        examples('svc senders default hello@shop.example', 'svc senders default snd_01m82xtxmmvg2qj0qr50gtn6ay'),
      )
      .argument('<id|email>'),
  ).action(
    cli.run(async ({ out, work }, ref: string) => {
      const { makeDefaultSender } = await import('../messages.ts')
      out.one(await work((w) => makeDefaultSender(w, ref)))
    }),
  )

  confirmed(
    noun
      .command('delete')
      .description('Delete a sender')
      .addHelpText(
        'after',
        examples('svc senders delete hello@shop.example --dry-run', 'svc senders delete hello@shop.example --yes'),
      )
      .argument('<id|email>'),
  ).action(
    cli.run(async ({ out, work, confirm }, ref: string, options: Confirmation) => {
      const { deleteSender, findSender } = await import('../messages.ts')
      const { id, email, isDefault } = await work((w) => findSender(w, ref))
      if (
        !(await confirm(
          `delete the sender ${email}${isDefault ? ', the default: email without a sender is refused then' : ''}`,
          options,
          { id, email },
        ))
      )
        return
      await work((w) => deleteSender(w, id))
      out.one({ ok: true, id })
    }),
  )
}

const domains: CommandSet = (cli) => {
  const noun = cli.noun('domains')

  noun
    .command('add')
    .description('Add a domain and show the DNS records that it needs')
    .addHelpText('after', examples('svc domains add shop.example', 'svc domains add shop.example --json'))
    .argument('<domain>')
    .action(
      cli.run(async ({ app, account, actor, out }, name: string) => {
        const { addDomain } = await import('../messages.ts')
        const domain = await addDomain(app, (await account()).id, actor, name)
        if (out.format === 'json' || out.format === 'jsonl') return out.one(domain)
        await out.list('records', domain.records, recordColumns)
        out.note('Publish these records, then check them:')
        out.next(`svc domains verify ${domain.domain}`)
      }),
    )

  noun
    .command('list', { isDefault: true })
    .description('List the domains')
    .addHelpText('after', examples('svc domains', 'svc domains list --json'))
    .action(
      cli.run(async ({ app, out, work }) => {
        const { listDomains } = await import('../messages.ts')
        const rows = await work((w) => listDomains(app, w))
        await out.list('domains', rows, domainColumns, null, { id: ({ domain }) => domain })
      }),
    )

  noun
    .command('show')
    .description('Show a domain with its DNS records')
    .addHelpText('after', examples('svc domains show shop.example', 'svc domains show shop.example --wide'))
    .argument('<domain>')
    .action(
      cli.run(async ({ app, out, work }, name: string) => {
        const { showDomain } = await import('../messages.ts')
        const domain = await work((w) => showDomain(app, w, name))
        if (out.format === 'json' || out.format === 'jsonl') return out.one(domain)
        await out.list('records', domain.records, recordColumns)
      }),
    )

  noun
    .command('verify')
    .description('Check the DNS records of a domain; exit 5 while it is pending')
    .addHelpText('after', examples('svc domains verify shop.example', 'svc domains verify shop.example --json'))
    .argument('<domain>')
    .action(
      cli.run(async ({ app, account, actor, out, exit }, name: string) => {
        const { verifyDomain } = await import('../messages.ts')
        const domain = await verifyDomain(app, (await account()).id, actor, name)
        if (out.format === 'json' || out.format === 'jsonl') out.one(domain)
        else {
          await out.list('records', domain.records, recordColumns)
          out.note(`${domain.domain} is ${domain.status}.`)
        }
        if (domain.status === 'pending') exit(5)
      }),
    )

  confirmed(
    noun
      .command('delete')
      .description('Delete a domain with its DKIM key; email from it is no longer signed')
      .addHelpText(
        'after',
        examples('svc domains delete shop.example --dry-run', 'svc domains delete shop.example --yes'),
      )
      .argument('<domain>'),
    'show what would be deleted',
  ).action(
    cli.run(async ({ app, out, work, confirm }, name: string, flags: Confirmation) => {
      const { deleteDomain, listSenders, showDomain } = await import('../messages.ts')
      const { emailDomain } = await import('../../lib/email.ts')
      const { domain, status } = await work((w) => showDomain(app, w, name))
      const senders = (await work(listSenders)).flatMap(({ email }) => (emailDomain(email) === domain ? [email] : []))
      const whose = senders.length > 0 ? `email of ${senders.join(', ')}` : 'its queued email'
      const unsigned = status === 'verified' ? `, and ${whose} is sent unsigned then` : ''
      const what = `delete the domain ${domain} (${status}) with its DKIM key${unsigned}`
      if (!(await confirm(what, flags, { domain, status, senders }))) return
      out.one({ domain: await work((w) => deleteDomain(w, domain)) })
    }),
  )
}

/** Adds `svc relay`, `svc senders` and `svc domains`. */
export const commands: CommandSet = (cli) => {
  relay(cli)
  senders(cli)
  domains(cli)
}
