import {
  appendNames,
  type CommandSet,
  type Confirmation,
  changing,
  confirmed,
  examples,
  namesOf,
} from '../cli/command.ts'
import { readBytes } from '../cli/input.ts'
import type { Column } from '../cli/output.ts'
import { Problem, shown } from '../lib/problem.ts'
import { number, quantity } from '../lib/quantity.ts'
import type { App } from '../store/work.ts'
import type { KeyView } from './accounts.keys.ts'
import type { PlanView } from './accounts.plans.ts'
import type { Usage } from './accounts.quotas.ts'
import type { AccountView, Scope } from './accounts.ts'

const accountColumns: Column<AccountView>[] = [
  ['ID', (account) => account.id],
  ['NAME', (account) => account.name],
  ['PLAN', (account) => account.plan],
  ['CONTACTS', (account) => account.contactCount],
  ['CREATED', (account) => new Date(account.createdAt)],
]

const keyColumns: Column<KeyView>[] = [
  ['ID', (key) => key.id],
  ['NAME', (key) => key.name],
  ['KEY', (key) => `${key.prefix}…${key.lastFour}`],
  ['SCOPES', (key) => key.scopes?.join(',') ?? 'all', 'pipe'],
  ['SCOPES', (key) => key.scopes?.join(', ') ?? 'all', 'terminal'],
  ['CREATED', (key) => new Date(key.createdAt)],
  ['LAST USED', (key) => (key.lastUsedAt ? new Date(key.lastUsedAt) : null)],
  ['EXPIRES', (key) => (key.expiresAt ? new Date(key.expiresAt) : null)],
  ['REVOKED', (key) => (key.revokedAt ? new Date(key.revokedAt) : null)],
]

interface BrandFlags extends Confirmation {
  brandName?: string
  logo?: string
  color?: string
  postalAddress?: string
  privacyUrl?: string
  timezone?: string
  lang?: string
}

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

const accounts: CommandSet = (cli) => {
  const noun = cli.noun('accounts')

  noun
    .command('create')
    .description('Create an account')
    .addHelpText(
      'after',
      examples(
        'svc accounts create --name Shop --plan starter',
        'svc accounts create --name Shop --plan starter --with-key',
      ),
    )
    .option('--name <name>', 'unique name of the account')
    .option('--plan <plan>', 'plan of the account (default: free; see svc plans list)')
    .option('--with-key', 'also create an API key')
    .action(
      cli.run(
        async (
          { app, actor, asks, out, require, operate },
          options: { name?: string; plan?: string; withKey?: boolean },
        ) => {
          // Asks for the plan only if it also has to ask for the name.
          const isAsked = asks && options.name === undefined
          const { name, plan = 'free' } = await require(options, 'name', ...(isAsked ? ['plan' as const] : []))
          const { createAccount, createKey } = await import('./accounts.ts')
          const account = await operate((operation) => createAccount(operation, { name, plan }))
          if (!options.withKey) return out.one(account)
          const key = await app.work(account.id, actor, (work) => createKey(work, { name: 'default' }))
          out.secret({ ...account, keyId: key.id, key: key.key }, 'key')
        },
        { account: 'none' },
      ),
    )

  noun
    .command('list', { isDefault: true })
    .description('List the accounts')
    .addHelpText('after', examples('svc accounts', 'svc accounts list --json'))
    .action(
      cli.run(async ({ out, operate }) => {
        const { listAccounts } = await import('./accounts.ts')
        await out.list('accounts', await operate(listAccounts), accountColumns)
      }),
    )

  noun
    .command('show')
    .description('Show an account')
    .addHelpText('after', examples('svc accounts show Shop', 'svc accounts show --json'))
    .argument('[account]', 'id or name (default: the account of --account)')
    .action(
      cli.run(async ({ app, out, operate, account }, ref: string | undefined) => {
        const { showAccount } = await import('./accounts.ts')
        const id = ref ?? (await account()).id
        out.one(withLogoUrl(app, await operate((operation) => showAccount(operation, id))))
      }),
    )

  changing(
    noun
      .command('update')
      .description('Change what hosted pages and emails show of the account; an empty value removes it')
      .addHelpText(
        'after',
        examples(
          "svc accounts update Shop --brand-name 'Shop & Co' --logo logo.png --color '#0f766e'",
          "svc accounts update --postal-address 'Shop, 1 Main Street, Berlin' --timezone Europe/Berlin --lang de",
        ),
      )
      .argument('[account]', 'id or name (default: the account of --account)')
      .option('--brand-name <name>', 'name that recipients see')
      .option('--logo <file>', 'PNG, JPEG or WebP image of at most 200 KB')
      .option('--color <color>', 'colour of buttons and links, such as #0f766e')
      .option('--postal-address <address>', 'address at the end of marketing emails, and below pages')
      .option('--privacy-url <url>', 'privacy policy')
      .option('--timezone <zone>', 'time zone of times in emails and flags, such as Europe/Berlin (default: UTC)')
      .option('--lang <lang>', 'language of dates and numbers, such as de or pt-BR (default: en)'),
  ).action(
    cli.run(async ({ app, out, operate, account }, ref: string | undefined, flags: BrandFlags) => {
      const { logoMaxBytes, updateAccount } = await import('./accounts.ts')
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
    }),
  )

  changing(
    noun
      .command('set-plan')
      .usage('[options] [account] <plan>')
      .description('Move the account to another plan; asks if the plan allows less than the account holds')
      .addHelpText('after', examples('svc accounts set-plan pro', 'svc accounts set-plan pro --account Shop --dry-run'))
      .argument('<plan>', 'the plan, or the account (id or name) if a plan follows')
      .argument('[new-plan]', 'the plan, after an account'),
    undefined,
    'skip the question',
  ).action(
    cli.run(async (context, first: string, second: string | undefined, options: Confirmation) => {
      const { out, operate, account, confirm } = context
      const { planExcess, setPlan, showAccount } = await import('./accounts.ts')
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
    }),
  )

  changing(
    noun
      .command('claim-slug')
      .description('Claim the slug of the account in portal URLs')
      .addHelpText('after', examples('svc accounts claim-slug shop', 'svc accounts claim-slug shop --account Shop'))
      .argument('<slug>', 'lower-case letters, digits and inner hyphens'),
  ).action(
    cli.run(async ({ out, operate, account }, slug: string) => {
      const { claimSlug } = await import('./accounts.ts')
      const { id } = await account()
      out.one(await operate((operation) => claimSlug(operation, id, slug)))
    }),
  )

  noun
    .command('usage')
    .description('Show the use of the plan by the account')
    .addHelpText('after', examples('svc accounts usage', 'svc accounts usage --account Shop --json'))
    .action(
      cli.run(async ({ out, operate, account }) => {
        const { accountUsage } = await import('./accounts.ts')
        const { id } = await account()
        const usage = await operate((operation) => accountUsage(operation, id))
        await out.list('usage', usage, [
          ['QUOTA', (row) => row.quota],
          ['USED', (row) => row.used],
          ['LIMIT', (row) => limitText(row.limit)],
        ])
      }),
    )

  noun
    .command('delete')
    .description('Delete an account with everything in it')
    .addHelpText('after', examples('svc accounts delete Shop --dry-run', 'svc accounts delete Shop --confirm Shop'))
    .argument('<account>', 'id or name')
    .option('--confirm <name>', 'name of the account, to confirm the deletion')
    .option('--dry-run', 'show what would be deleted')
    .action(
      cli.run(
        async (
          { app, actor, asks, signal, out, operate, progress },
          ref: string,
          options: { confirm?: string; dryRun?: boolean },
        ) => {
          const { countOwned, deleteAccount, findDeletable } = await import('./accounts.ts')
          const { id, name } = await operate((operation) => findDeletable(operation, ref))
          if (!options.dryRun && options.confirm !== name) {
            const { contacts = 0, deals = 0, messages = 0, webhooks = 0 } = await operate((o) => countOwned(o, id))
            const what = `${quantity(contacts, 'contact')}, ${quantity(deals, 'deal')}, ${quantity(messages, 'email')} and ${quantity(webhooks, 'webhook')}`
            const sentence = `Deleting ${name} deletes everything in it, including ${what}`
            if (!asks || options.confirm !== undefined)
              throw new Problem('usage', sentence, { hint: `add --confirm ${JSON.stringify(name)}` })
            out.note(sentence)
            const { askText } = await import('../cli/ask.ts')
            if ((await askText('Type the name of the account to delete it:')) !== name)
              throw new Problem('usage', 'The name does not match: nothing was deleted')
          }
          if (options.dryRun) {
            const owned = await operate((operation) => countOwned(operation, id))
            out.note('Nothing was changed. This would be deleted:')
            return out.one({ id, name, deleted: owned }, { id, name, ...owned })
          }
          const bar = progress('rows')
          const onBatch = (rows: number) => bar.update({ rows, fraction: null })
          const run = deleteAccount(app, id, { actor, signal, onBatch }).finally(bar.stop)
          const { deleted, isDone } = await run
          if (!isDone) out.note('Stopped before the end. Its keys are revoked. Run the same command again to continue.')
          out.one({ id, name, deleted }, { id, name, ...deleted })
        },
        { account: 'none' },
      ),
    )
}

const plans: CommandSet = (cli) => {
  const noun = cli.noun('plans')

  noun
    .command('list', { isDefault: true })
    .description('List the plans')
    .addHelpText('after', examples('svc plans', 'svc plans list --json'))
    .action(
      cli.run(async ({ out, operate }) => {
        const { listPlans } = await import('./accounts.ts')
        await out.list('plans', await operate(listPlans), planColumns)
      }),
    )

  noun
    .command('show')
    .description('Show a plan')
    .addHelpText('after', examples('svc plans show starter', 'svc plans show starter --json'))
    .argument('<plan>')
    .action(
      cli.run(
        async ({ out, operate }, name: string) => {
          const { showPlan } = await import('./accounts.ts')
          out.one(await operate((operation) => showPlan(operation, name)))
        },
        { account: 'none' },
      ),
    )

  changing(
    noun
      .command('set')
      .description('Change the limits of a plan')
      .addHelpText(
        'after',
        examples(
          'svc plans set starter --contacts 10000',
          'svc plans set starter --sends unlimited --webinar-courses yes --dry-run',
        ),
      )
      .argument('<plan>')
      .option('--contacts <n|unlimited>', 'maximum addresses')
      .option('--sends <n|unlimited>', 'maximum emails a month')
      .option('--send-api-calls <n|unlimited>', 'maximum calls of POST /send a month')
      .option('--embed-api <n|unlimited>', 'maximum calls of the Embed API a month')
      .option('--broadcast-minutes <n|unlimited>', 'maximum live minutes a month')
      .option('--webinar-courses <yes|no>', 'whether a webinar can include a course'),
  ).action(
    cli.run(
      async ({ out, operate }, name: string, options: Record<string, string>) => {
        const { yes: _, dryRun: __, ...limits } = options
        const change = Object.fromEntries(Object.entries(limits).map(([flag, text]) => [flag, limitOf(flag, text)]))
        if (Object.keys(change).length === 0) {
          throw new Problem('usage', 'Name at least one limit', { hint: 'svc plans set --help' })
        }
        const { setPlanLimits } = await import('./accounts.ts')
        out.one(await operate((operation) => setPlanLimits(operation, name, change)))
      },
      { account: 'none' },
    ),
  )
}

const limitOf = (flag: string, text: string): number | boolean | null => {
  if (flag === 'webinarCourses') {
    if (text === 'yes' || text === 'no') return text === 'yes'
    throw new Problem('usage', '--webinar-courses must be yes or no')
  }
  if (text === 'unlimited') return null
  if (/^\d{1,10}$/.test(text)) return Number(text)
  throw new Problem('usage', `A limit must be a whole number or unlimited, not ${shown(text)}`)
}

interface KeyOptions {
  name?: string
  scope?: string
  expires?: string
  yes?: boolean
  dryRun?: boolean
}

const keys: CommandSet = (cli) => {
  const noun = cli.noun('keys')

  noun
    .command('create')
    .description('Create an API key and show it once')
    .addHelpText(
      'after',
      examples(
        'svc keys create --name website --scope contacts,send --expires 90d',
        'svc keys create --name website --json',
      ),
    )
    .option('--name <name>', 'name that says what the key is for')
    .option('--scope <scopes>', 'what it may call, separated by commas (default: everything)', appendNames)
    .option('--expires <when>', 'when it ends: a duration such as 90d, or a time (default: never)')
    .option('--yes', 'accepted for scripts; this command never asks')
    .option('--dry-run', 'check the flags, and create nothing')
    .action(
      cli.run(async ({ app, confirm, out, require, timezone, work }, options: KeyOptions) => {
        const { scope, expires, dryRun } = options
        const { name } = await require(options, 'name')
        const [{ createKey, planKey }, { parseTime }] = await Promise.all([
          import('./accounts.ts'),
          import('../lib/since.ts'),
        ])
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
      }),
    )

  noun
    .command('list', { isDefault: true })
    .description('List the keys')
    .addHelpText('after', examples('svc keys', 'svc keys list --json'))
    .action(
      cli.run(async ({ out, work }) => {
        const { listKeys } = await import('./accounts.ts')
        await out.list('keys', await work(listKeys), keyColumns)
      }),
    )

  confirmed(
    noun
      .command('revoke')
      .description('Revoke a key permanently, and disable the webhooks that it created')
      .addHelpText(
        'after',
        examples(
          'svc keys revoke key_01m82xgxfgknxsq48b485q03z3 --dry-run',
          'svc keys revoke key_01m82xgxfgknxsq48b485q03z3 --yes',
        ),
      )
      .argument('<id>'),
  ).action(
    cli.run(async ({ out, work, confirm }, id: string, options: Confirmation) => {
      const { planRevocation, revokeKey } = await import('./accounts.ts')
      const planned = await work((w) => planRevocation(w, id))
      const { subscriptions, deliveries } = planned
      const what = `revoke ${id}, disable the webhooks that it created (${subscriptions}) and cancel their pending deliveries (${deliveries})`
      if (!(await confirm(what, options, planned))) return
      out.one(await work((w) => revokeKey(w, id)))
    }),
  )
}

export const commands: CommandSet = (cli) => {
  accounts(cli)
  plans(cli)
  keys(cli)
}
