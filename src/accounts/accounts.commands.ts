import { type CommandList, command } from '../cli/define.ts'
import { argument, changing, confirmed, names, namesOf, needed, present, text, unasked } from '../cli/flags.ts'
import { readBytes } from '../cli/input.ts'
import { type Column, properties } from '../cli/output.ts'
import { Problem, shown } from '../lib/problem.ts'
import { number, quantity } from '../lib/quantity.ts'
import { shellWord } from '../lib/shell.ts'
import { parseTime } from '../lib/since.ts'
import type { App } from '../store/work.ts'
import type { KeyView } from './accounts.keys.ts'
import type { PlanView } from './accounts.plans.ts'
import type { Usage } from './accounts.quotas.ts'
import type { AccountView, Scope } from './accounts.ts'

/** The plans that every installation begins with. */
const planNames = ['free', 'starter', 'pro', 'business', 'unlimited']

const accountColumns: Column<AccountView>[] = [
  ...properties<AccountView>('id', 'name', 'plan'),
  ['CONTACTS', (account) => account.contactCount],
  ...properties<AccountView>('createdAt', 'state'),
]

const keyColumns: Column<KeyView>[] = [
  ...properties<KeyView>('id', 'name'),
  ['KEY', (key) => `${key.prefix}…${key.lastFour}`],
  ['SCOPES', (key) => key.scopes?.join(',') ?? 'all', 'pipe'],
  ['SCOPES', (key) => key.scopes?.join(', ') ?? 'all', 'terminal'],
  ...properties<KeyView>('createdAt', 'lastUsedAt', 'expiresAt', 'revokedAt'),
]

const withLogoUrl = <T extends { logo: string | null; logoSize: unknown }>(
  { config }: Pick<App, 'config'>,
  { logoSize: _, ...account }: T,
) => ({
  ...account,
  logo: account.logo && `${config.publicUrl}${account.logo}`,
})

const limitText = (limit: number | null) => limit ?? 'unlimited'

const planColumns: Column<PlanView>[] = [
  ['NAME', (plan) => plan.name],
  ['CONTACTS', (plan) => limitText(plan.contacts)],
  ['SENDS', (plan) => limitText(plan.sends)],
  ['SEND API', (plan) => limitText(plan.sendApiCalls)],
  ['EMBED API', (plan) => limitText(plan.embedApi)],
  ['BROADCAST MIN', (plan) => limitText(plan.broadcastMinutes)],
  ['WEBINAR COURSES', (plan) => (plan.webinarCourses ? 'yes' : 'no')],
]

const quotaNames: Record<Usage['quota'], string> = {
  contacts: 'contacts',
  sends: 'emails a month',
  sendApiCalls: 'calls of POST /send a month',
  embedApi: 'calls of the Embed API a month',
  broadcastMinutes: 'live minutes a month',
}

const limitOf = (flag: string, text: string): number | boolean | null => {
  if (flag === 'webinarCourses') {
    if (text === 'yes' || text === 'no') return text === 'yes'
    throw new Problem('usage', '--webinar-courses must be yes or no')
  }
  if (text === 'unlimited') return null
  if (/^\d{1,10}$/.test(text)) return Number(text)
  throw new Problem('usage', `A limit must be a whole number from 0 to 9999999999, or unlimited, not ${shown(text)}`)
}

export const commands: CommandList = [
  command({
    path: 'accounts create',
    summary: 'Create an account',
    examples: [
      'svc accounts create --name Shop --plan starter',
      'svc accounts create --name Shop --plan starter --with-key',
    ],
    flags: {
      name: text('<name>', 'unique name of the account'),
      plan: text('<plan>', 'plan of the account (default: free; see svc plans list)', { of: planNames }),
      withKey: present('also create an API key'),
    },
    account: 'none',
    run: async ({ app, actor, asks, out, require, operate }, options) => {
      // Asks for the plan only if it also has to ask for the name.
      const isAsked = asks && options.name === undefined
      const { name, plan = 'free' } = await require(options, 'name', ...(isAsked ? ['plan' as const] : []))
      const { createAccount, createKey } = await import('./accounts.ts')
      const account = await operate((operation) => createAccount(operation, { name, plan }))
      if (!options.withKey) return out.one(account)
      const key = await app.work(account.id, actor, (work) => createKey(work, { name: 'default' }))
      out.secret({ ...account, keyId: key.id, key: key.key }, 'key')
    },
  }),

  command({
    path: 'accounts list',
    isDefault: true,
    summary: 'List the accounts',
    examples: ['svc accounts', 'svc accounts list --json'],
    run: async ({ out, operate }) => {
      const { listAccounts } = await import('./accounts.ts')
      await out.list('accounts', await operate(listAccounts), accountColumns)
    },
  }),

  command({
    path: 'accounts show',
    summary: 'Show an account',
    examples: ['svc accounts show Shop', 'svc accounts show --json'],
    arguments: [argument('[account]', 'id or name (default: the account of --account)')],
    run: async ({ app, out, operate, account }, ref) => {
      const { showAccount } = await import('./accounts.ts')
      const id = ref ?? (await account()).id
      out.one(withLogoUrl(app, await operate((operation) => showAccount(operation, id))))
    },
  }),

  command({
    path: 'accounts update',
    summary: 'Change what hosted pages and emails show of the account; an empty value removes it',
    examples: [
      "svc accounts update Shop --brand-name 'Shop & Co' --logo logo.png --color '#0f766e'",
      "svc accounts update --postal-address 'Shop, 1 Main Street, Berlin' --timezone Europe/Berlin --lang de",
    ],
    arguments: [argument('[account]', 'id or name (default: the account of --account)')],
    flags: {
      brandName: text('<name>', 'name that recipients see'),
      logo: text('<file>', 'PNG, JPEG or WebP image of at most 200 KB'),
      color: text('<color>', 'colour of buttons and links, such as #0f766e'),
      postalAddress: text('<address>', 'address at the end of marketing emails, and below pages'),
      privacyUrl: text('<url>', 'privacy policy'),
      timezone: text('<zone>', 'time zone of times in emails and flags, such as Europe/Berlin (default: UTC)'),
      lang: text('<lang>', 'language of dates and numbers, such as de or pt-BR (default: en)'),
      ...changing(),
    },
    run: async ({ app, out, operate, account }, ref, flags) => {
      const { logoMaxBytes } = await import('./accounts.brand.ts')
      const { updateAccount } = await import('./accounts.ts')
      const { logo, brandName, color, postalAddress, privacyUrl, timezone, lang } = flags
      const given = { brandName, color, postalAddress, privacyUrl, timezone, lang }
      const texts = Object.entries(given).flatMap(([name, value]) =>
        value === undefined ? [] : [[name, value] as const],
      )
      const change = {
        ...Object.fromEntries(texts.map(([name, value]) => [name, value.trim() || null])),
        ...(logo !== undefined && { logo: logo === '' ? null : await readBytes(logo, '--logo', logoMaxBytes) }),
      }
      if (Object.keys(change).length === 0)
        throw new Problem('usage', 'Name at least one value', { hint: 'svc accounts update --help' })
      const id = ref ?? (await account()).id
      out.one(withLogoUrl(app, await operate((operation) => updateAccount(operation, id, change))))
    },
  }),

  command({
    path: 'accounts set-plan',
    summary: 'Move the account to another plan; asks if the plan allows less than the account holds',
    usage: '[options] [account] <plan>',
    examples: ['svc accounts set-plan pro', 'svc accounts set-plan pro --account Shop --dry-run'],
    arguments: [
      argument('<plan>', 'the plan, or the account (id or name) if a plan follows', { of: planNames }),
      argument('[new-plan]', 'the plan, after an account', { of: planNames }),
    ],
    flags: changing(undefined, 'skip the question'),
    run: async ({ out, operate, account, confirm }, first, second, options) => {
      const { planExcess } = await import('./accounts.quotas.ts')
      const { setPlan, showAccount } = await import('./accounts.ts')
      const [ref, plan] = second === undefined ? [(await account()).id, first] : [first, second]
      const { id, name } = await operate((operation) => showAccount(operation, ref))
      const excess = await operate((operation) => planExcess(operation, id, plan))
      if (excess.length > 0) {
        const held = excess.map(({ quota, used, limit }) => `${number(used)} of ${number(limit)} ${quotaNames[quota]}`)
        const what = `move ${name} to ${plan}, which allows less than it holds: ${held.join(', ')}`
        if (options.dryRun) out.note(`Would ${what}.`)
        else if (!(await confirm(what, options))) return
      }
      out.one(await operate((operation) => setPlan(operation, id, plan)))
    },
  }),

  command({
    path: 'accounts claim-slug',
    summary: 'Claim the slug of the account in portal URLs',
    examples: ['svc accounts claim-slug shop', 'svc accounts claim-slug shop --account Shop'],
    arguments: [argument('<slug>', 'lower-case letters, digits and inner hyphens')],
    flags: changing(),
    run: async ({ out, operate, account }, slug) => {
      const { claimSlug } = await import('./accounts.ts')
      const { id } = await account()
      out.one(await operate((operation) => claimSlug(operation, id, slug)))
    },
  }),

  command({
    path: 'accounts usage',
    summary: 'Show the use of the plan by the account',
    examples: ['svc accounts usage', 'svc accounts usage --account Shop --json'],
    run: async ({ out, operate, account }) => {
      const { accountUsage } = await import('./accounts.ts')
      const { id } = await account()
      const usage = await operate((operation) => accountUsage(operation, id))
      await out.list('usage', usage, [
        ['QUOTA', (row) => row.quota],
        ['USED', (row) => row.used],
        ['LIMIT', (row) => limitText(row.limit)],
      ])
    },
  }),

  command({
    path: 'accounts delete',
    summary: 'Delete an account with everything in it',
    examples: ['svc accounts delete Shop --dry-run', 'svc accounts delete Shop --confirm Shop'],
    arguments: [argument('<account>', 'id or name')],
    flags: {
      confirm: text('<name>', 'name of the account, to confirm the deletion'),
      dryRun: present('show what would be deleted'),
    },
    account: 'none',
    run: async ({ app, actor, asks, signal, out, operate, withProgress }, ref, options) => {
      const { countOwned, findDeletable } = await import('./accounts.ts')
      const { deleteAccount } = await import('./accounts.delete.ts')
      const { id, name } = await operate((operation) => findDeletable(operation, ref))
      if (!options.dryRun && options.confirm !== name) {
        const { contacts = 0, deals = 0, messages = 0, webhooks = 0 } = await operate((o) => countOwned(o, id))
        const what = `${quantity(contacts, 'contact')}, ${quantity(deals, 'deal')}, ${quantity(messages, 'email')} and ${quantity(webhooks, 'webhook')}`
        const sentence = `Deleting ${name} deletes everything in it, including ${what}`
        if (!asks || options.confirm !== undefined)
          throw new Problem('usage', sentence, { hint: `add --confirm ${shellWord(name)}` })
        out.note(sentence)
        const { askText } = await import('../cli/ask.ts')
        if ((await askText('Type the name of the account to delete it:')) !== name)
          throw new Problem('usage', 'The name does not match: nothing was deleted')
      }
      if (options.dryRun) {
        const owned = await operate((operation) => countOwned(operation, id))
        out.note('Nothing was changed. This would be deleted:')
        return out.one({ dryRun: true, id, name, deleted: owned }, { id, name, ...owned })
      }
      const { deleted, isDone } = await withProgress('rows', null, (onBatch) =>
        deleteAccount(app, id, { actor, signal, onBatch }),
      )
      if (!isDone) out.note('Stopped before the end. Its keys are revoked. Run the same command again to continue.')
      out.one({ id, name, deleted }, { id, name, ...deleted })
    },
  }),

  command({
    path: 'plans list',
    isDefault: true,
    summary: 'List the plans',
    examples: ['svc plans', 'svc plans list --json'],
    run: async ({ out, operate }) => {
      const { listPlans } = await import('./accounts.ts')
      await out.list('plans', await operate(listPlans), planColumns)
    },
  }),

  command({
    path: 'plans show',
    summary: 'Show a plan',
    examples: ['svc plans show starter', 'svc plans show starter --json'],
    arguments: [argument('<plan>', '', { of: planNames })],
    account: 'none',
    run: async ({ out, operate }, name) => {
      const { showPlan } = await import('./accounts.plans.ts')
      out.one(await operate((operation) => showPlan(operation, name)))
    },
  }),

  command({
    path: 'plans set',
    summary: 'Change the limits of a plan',
    examples: [
      'svc plans set starter --contacts 10000',
      'svc plans set starter --sends unlimited --webinar-courses yes --dry-run',
    ],
    arguments: [argument('<plan>', '', { of: planNames })],
    flags: {
      contacts: text('<n|unlimited>', 'maximum addresses'),
      sends: text('<n|unlimited>', 'maximum emails a month'),
      sendApiCalls: text('<n|unlimited>', 'maximum calls of POST /send a month'),
      embedApi: text('<n|unlimited>', 'maximum calls of the Embed API a month'),
      broadcastMinutes: text('<n|unlimited>', 'maximum live minutes a month'),
      webinarCourses: text('<yes|no>', 'whether a webinar can include a course', { of: ['yes', 'no'] }),
      ...changing(),
    },
    account: 'none',
    run: async ({ out, operate }, name, options) => {
      const { yes: _, dryRun: __, ...limits } = options
      const change = Object.fromEntries(Object.entries(limits).map(([flag, text]) => [flag, limitOf(flag, text)]))
      if (Object.keys(change).length === 0) {
        throw new Problem('usage', 'Name at least one limit', { hint: 'svc plans set --help' })
      }
      const { setPlanLimits } = await import('./accounts.plans.ts')
      out.one(await operate((operation) => setPlanLimits(operation, name, change)))
    },
  }),

  command({
    path: 'keys create',
    summary: 'Create an API key and show it once',
    examples: [
      'svc keys create --name website --scope contacts,send --expires 90d',
      'svc keys create --name website --json',
    ],
    flags: {
      name: needed('<name>', 'name that says what the key is for'),
      scope: names(
        '<scopes>',
        'what it may call, separated by commas (default: everything)',
        async () => (await import('./accounts.scopes.ts')).scopes,
      ),
      expires: text('<when>', 'when it ends: a duration such as 90d, or a time (default: never)'),
      ...unasked('check the flags, and create nothing'),
    },
    run: async ({ app, confirm, out, timezone, work }, options) => {
      const { name, scope, expires, dryRun } = options
      const { createKey, planKey } = await import('./accounts.keys.ts')
      const now = app.now()
      const input = {
        name,
        ...(scope !== undefined && { scopes: namesOf(scope) as Scope[] }),
        ...(expires !== undefined && { expiresAt: parseTime(expires, now.getTime(), await timezone()) }),
      }
      if (dryRun) {
        const planned = planKey({ now }, input)
        await confirm(`create the key ${name}`, { dryRun }, planned)
        return
      }
      out.secret(await work((w) => createKey(w, input)), 'key')
    },
  }),

  command({
    path: 'keys list',
    isDefault: true,
    summary: 'List the keys',
    examples: ['svc keys', 'svc keys list --json'],
    run: async ({ out, work }) => {
      const { listKeys } = await import('./accounts.ts')
      await out.list('keys', await work(listKeys), keyColumns)
    },
  }),

  command({
    path: 'keys revoke',
    summary: 'Revoke a key permanently, and disable the webhooks that it created',
    examples: [
      'svc keys revoke key_01m82xgxfgknxsq48b485q03z3 --dry-run',
      'svc keys revoke key_01m82xgxfgknxsq48b485q03z3 --yes',
    ],
    arguments: [argument('<id>')],
    flags: confirmed(),
    run: async ({ out, work, confirm }, id, options) => {
      const { planRevocation, revokeKey } = await import('./accounts.keys.ts')
      const planned = await work((w) => planRevocation(w, id))
      const { subscriptions, deliveries } = planned
      const what = `revoke ${id}, disable the webhooks that it created (${subscriptions}) and cancel their pending deliveries (${deliveries})`
      if (!(await confirm(what, options, planned))) return
      out.one(await work((w) => revokeKey(w, id)))
    },
  }),
]
