import { type CommandList, command } from '../cli/define.ts'
import { argument, changing, confirmed, needed, text, unasked } from '../cli/flags.ts'
import { parse, passwordQuestion, readSecret } from '../cli/input.ts'
import { type Column, properties } from '../cli/output.ts'
import type { DomainRecord, DomainView } from './domains.ts'
import type { SenderView } from './senders.change.ts'

const senderColumns: Column<SenderView>[] = [
  ...properties<SenderView>('id', 'email', 'name', 'replyTo'),
  ['DEFAULT', (sender) => (sender.isDefault ? 'yes' : null)],
]

const domainColumns: Column<DomainView>[] = [
  ...properties<DomainView>('domain', 'status'),
  ['FOUND', ({ records }) => records.flatMap(({ purpose, found }) => (found ? purpose : [])).join(' ')],
]

const recordColumns: Column<DomainRecord>[] = [
  ['FOR', (record) => record.purpose],
  ['FOUND', (record) => (record.found ? 'yes' : 'no')],
  ...properties<DomainRecord>('type', 'name', 'value'),
]

/** The commands `svc relay`, `svc senders` and `svc domains`. */
export const commands: CommandList = [
  command({
    path: 'relay set',
    summary: 'Send the account’s email by its own relay instead of the platform’s',
    examples: [
      'svc relay set --url smtps://apikey@smtp.example.com:465 --password-file password.txt',
      'svc relay set --url smtp://smtp.example.com:587 --bounce-address bounces@shop.example',
    ],
    flags: {
      url: needed(
        '<url>',
        'the relay: smtp[s]://[user@]host:port; a password requires TLS, unless the URL ends with ?tls=optional',
      ),
      passwordFile: text('<file|->', 'the password, from a file or standard input'),
      bounceAddress: text('<email>', 'address for delivery reports; +<message id> is inserted before its @'),
      ...changing(),
    },
    run: async ({ app, asks, out, work }, { url, passwordFile, bounceAddress = null }) => {
      const password = await readSecret(passwordFile, '--password-file', passwordQuestion(asks, url))
      const { setRelay } = await import('./relays.ts')
      out.one(await work((w) => setRelay(app, w, { url, password, bounceAddress })))
    },
  }),

  command({
    path: 'relay show',
    isDefault: true,
    summary: 'Show the relay that sends the account’s email',
    examples: ['svc relay show', 'svc relay show --json'],
    run: async ({ app, out, work }) => {
      const { showRelay } = await import('./relays.ts')
      out.one(await work((w) => showRelay(app, w)))
    },
  }),

  command({
    path: 'relay test',
    summary: 'Connect to the relay, sign in and show the TLS version; with --to also send a small email',
    examples: ['svc relay test', 'svc relay test --to you@example.com'],
    flags: {
      to: text('<email>', 'the recipient of the test email'),
      ...unasked('connect and sign in, and send no email'),
    },
    run: async ({ app, account, actor, out, exit }, { to: given = null, dryRun }) => {
      const { testRelay } = await import('./relays.ts')
      const { emailAddress } = await import('../lib/address.ts')
      const to = await parse(emailAddress().nullable(), given, 'to')
      const { fault, tls } = await testRelay(app, (await account()).id, actor, dryRun ? null : to)
      const result = { ...(dryRun && { dryRun }), ok: fault === null, tls, ...(fault !== null && { error: fault }) }
      out.one(result, { ...result, tls: tls ?? 'none' })
      if (dryRun) out.note('Nothing was sent.')
      if (fault !== null) exit(1)
    },
  }),

  command({
    path: 'relay unset',
    summary: 'Use the platform’s relay again',
    examples: ['svc relay unset --dry-run', 'svc relay unset --yes'],
    flags: confirmed(),
    run: async ({ app, out, work, confirm }, options) => {
      const then =
        app.config.smtpUrl === null
          ? 'the account can’t send any email then'
          : 'the platform’s relay sends its email then'
      if (!(await confirm(`delete the account’s relay and its password: ${then}`, options))) return
      const { unsetRelay } = await import('./relays.ts')
      out.one({ ok: true, removed: await work(unsetRelay) })
    },
  }),

  command({
    path: 'senders add',
    summary: 'Add a sender; the first one becomes the default',
    examples: [
      'svc senders add --email hello@shop.example --name "The Shop"',
      'svc senders add --email hello@shop.example --name "The Shop" --reply-to support@shop.example',
    ],
    flags: {
      email: needed('<email>', 'the From address'),
      name: needed('<name>', 'the From name'),
      replyTo: text('<email>', 'address for replies'),
    },
    run: async ({ out, work }, { email, name, replyTo }) => {
      const { addSender } = await import('./senders.ts')
      out.one(await work((w) => addSender(w, { email, name, replyTo })))
    },
  }),

  command({
    path: 'senders list',
    isDefault: true,
    summary: 'List the senders',
    examples: ['svc senders', 'svc senders list --json'],
    run: async ({ out, work }) => {
      const { listSenders } = await import('./senders.ts')
      await out.list('senders', await work(listSenders), senderColumns)
    },
  }),

  command({
    path: 'senders default',
    summary: 'Make a sender the default one',
    examples: ['svc senders default hello@shop.example', 'svc senders default snd_01m82xtxmmvg2qj0qr50gtn6ay'],
    arguments: [argument('<id|email>')],
    flags: changing(),
    run: async ({ out, work }, ref) => {
      const { makeDefaultSender } = await import('./senders.change.ts')
      out.one(await work((w) => makeDefaultSender(w, ref)))
    },
  }),

  command({
    path: 'senders delete',
    summary: 'Delete a sender',
    examples: ['svc senders delete hello@shop.example --dry-run', 'svc senders delete hello@shop.example --yes'],
    arguments: [argument('<id|email>')],
    flags: confirmed(),
    run: async ({ out, work, confirm }, ref, options) => {
      const { deleteSender, findSender } = await import('./senders.change.ts')
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
    },
  }),

  command({
    path: 'domains add',
    summary: 'Add a domain and show the DNS records that it needs',
    examples: ['svc domains add shop.example', 'svc domains add shop.example --json'],
    arguments: [argument('<domain>', '', { noun: null })],
    run: async ({ app, account, actor, out }, name) => {
      const { addDomain } = await import('./domains.ts')
      const domain = await addDomain(app, (await account()).id, actor, name)
      if (out.isJson) return out.one(domain)
      await out.list('records', domain.records, recordColumns)
      out.note('Publish these records, then check them:')
      out.next(`svc domains verify ${domain.domain}`)
    },
  }),

  command({
    path: 'domains list',
    isDefault: true,
    summary: 'List the domains',
    examples: ['svc domains', 'svc domains list --json'],
    run: async ({ app, out, work }) => {
      const { listDomains } = await import('./domains.ts')
      const rows = await work((w) => listDomains(app, w))
      await out.list('domains', rows, domainColumns, null, { id: ({ domain }) => domain })
    },
  }),

  command({
    path: 'domains show',
    summary: 'Show a domain with its DNS records',
    examples: ['svc domains show shop.example', 'svc domains show shop.example --wide'],
    arguments: [argument('<domain>')],
    run: async ({ app, out, work }, name) => {
      const { showDomain } = await import('./domains.ts')
      const domain = await work((w) => showDomain(app, w, name))
      if (out.isJson) return out.one(domain)
      await out.list('records', domain.records, recordColumns)
    },
  }),

  command({
    path: 'domains verify',
    summary: 'Check the DNS records of a domain; exit 5 while it is pending',
    examples: ['svc domains verify shop.example', 'svc domains verify shop.example --json'],
    arguments: [argument('<domain>')],
    run: async ({ app, account, actor, out, exit }, name) => {
      const { verifyDomain } = await import('./domains.ts')
      const domain = await verifyDomain(app, (await account()).id, actor, name)
      if (out.isJson) out.one(domain)
      else {
        await out.list('records', domain.records, recordColumns)
        out.note(`${domain.domain} is ${domain.status}.`)
      }
      if (domain.status === 'pending') exit(5)
    },
  }),

  command({
    path: 'domains delete',
    summary: 'Delete a domain with its DKIM key; email from it is no longer signed',
    examples: ['svc domains delete shop.example --dry-run', 'svc domains delete shop.example --yes'],
    arguments: [argument('<domain>')],
    flags: confirmed('show what would be deleted'),
    run: async ({ app, out, work, confirm }, name, flags) => {
      const { deleteDomain, showDomain } = await import('./domains.ts')
      const { listSenders } = await import('./senders.ts')
      const { emailDomain } = await import('../lib/email.ts')
      const { domain, status } = await work((w) => showDomain(app, w, name))
      const senders = (await work(listSenders)).flatMap(({ email }) => (emailDomain(email) === domain ? [email] : []))
      const whose = senders.length > 0 ? `email of ${senders.join(', ')}` : 'its queued email'
      const unsigned = status === 'verified' ? `, and ${whose} is sent unsigned then` : ''
      const what = `delete the domain ${domain} (${status}) with its DKIM key${unsigned}`
      if (!(await confirm(what, flags, { domain, status, senders }))) return
      out.one({ domain: await work((w) => deleteDomain(w, domain)) })
    },
  }),
]
