import type { CommandSet } from '../cli/command.ts'
import type { Column } from '../cli/output.ts'
import { Problem } from '../lib/problem.ts'
import type { KeyView } from './accounts.keys.ts'
import type { PlanView } from './accounts.plans.ts'
import type { AccountView } from './accounts.ts'

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
  ['CREATED', (key) => new Date(key.createdAt)],
  ['REVOKED', (key) => (key.revokedAt ? new Date(key.revokedAt) : null)],
]

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

const accounts: CommandSet = (cli) => {
  const noun = cli.noun('accounts')

  noun
    .command('create')
    .description('Create an account')
    .option('--name <name>', 'its name, unique')
    .option('--plan <plan>', 'its plan (svc plans list)', 'free')
    .option('--with-key', 'create an API key as well')
    .action(
      cli.run(
        async ({ app, actor, out, require, operate }, options: { name?: string; plan: string; withKey?: boolean }) => {
          const { name } = await require({ name: options.name })
          const { createAccount, createKey } = await import('./accounts.ts')
          const account = await operate((operation) => createAccount(operation, { name, plan: options.plan }))
          if (!options.withKey) return out.one(account)
          const key = await app.work(account.id, actor, (work) => createKey(work, { name: 'default' }))
          out.secret({ ...account, keyId: key.id, key: key.key }, 'key')
        },
      ),
    )

  noun
    .command('list', { isDefault: true })
    .description('List the accounts')
    .action(
      cli.run(async ({ out, operate }) => {
        const { listAccounts } = await import('./accounts.ts')
        await out.list('accounts', await operate(listAccounts), accountColumns)
      }),
    )

  noun
    .command('show')
    .description('Show an account')
    .argument('[account]', 'id or name; left out: the account of --account')
    .action(
      cli.run(async ({ out, operate, account }, ref: string | undefined) => {
        const { showAccount } = await import('./accounts.ts')
        const id = ref ?? (await account()).id
        out.one(await operate((operation) => showAccount(operation, id)))
      }),
    )

  noun
    .command('set-plan')
    .description('Move the account to another plan')
    .argument('<plan>')
    .action(
      cli.run(async ({ out, operate, account }, plan: string) => {
        const { setPlan } = await import('./accounts.ts')
        const { id } = await account()
        out.one(await operate((operation) => setPlan(operation, id, plan)))
      }),
    )

  noun
    .command('claim-slug')
    .description('Claim the name of the account in portal URLs')
    .argument('<slug>', 'lower-case letters, digits and inner hyphens')
    .action(
      cli.run(async ({ out, operate, account }, slug: string) => {
        const { claimSlug } = await import('./accounts.ts')
        const { id } = await account()
        out.one(await operate((operation) => claimSlug(operation, id, slug)))
      }),
    )

  noun
    .command('usage')
    .description('Show what the account has used of its plan')
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
    .argument('<account>', 'id or name')
    .option('--confirm <name>', 'the name of the account, to show that it is meant')
    .option('--dry-run', 'say what would go')
    .action(
      cli.run(
        async (
          { app, actor, signal, out, operate, progress },
          ref: string,
          options: { confirm?: string; dryRun?: boolean },
        ) => {
          const { countOwned, deleteAccount, findDeletable } = await import('./accounts.ts')
          const { id, name } = await operate((operation) => findDeletable(operation, ref))
          if (!options.dryRun && options.confirm !== name) {
            throw new Problem('usage', `Deleting ${name} takes everything in it`, {
              hint: `add --confirm ${JSON.stringify(name)}`,
            })
          }
          if (options.dryRun) {
            const owned = await operate((operation) => countOwned(operation, id))
            out.note('Nothing was changed. It would delete:')
            return out.one({ id, name, deleted: owned }, { id, name, ...owned })
          }
          const bar = progress('rows')
          const onBatch = (rows: number) => bar.update({ rows, fraction: null })
          const run = deleteAccount(app, id, { actor, signal, onBatch }).finally(bar.stop)
          const { deleted, isDone } = await run
          if (!isDone) out.note('Stopped before the end: its keys are revoked, and the same command goes on.')
          out.one({ id, name, deleted }, { id, name, ...deleted })
        },
      ),
    )
}

const plans: CommandSet = (cli) => {
  const noun = cli.noun('plans')

  noun
    .command('list', { isDefault: true })
    .description('List the plans')
    .action(
      cli.run(async ({ out, operate }) => {
        const { listPlans } = await import('./accounts.ts')
        await out.list('plans', await operate(listPlans), planColumns)
      }),
    )

  noun
    .command('show')
    .description('Show a plan')
    .argument('<plan>')
    .action(
      cli.run(async ({ out, operate }, name: string) => {
        const { showPlan } = await import('./accounts.ts')
        out.one(await operate((operation) => showPlan(operation, name)))
      }),
    )

  noun
    .command('set')
    .description('Change the limits of a plan')
    .argument('<plan>')
    .option('--contacts <n|unlimited>', 'addresses')
    .option('--sends <n|unlimited>', 'mails a month')
    .option('--send-api-calls <n|unlimited>', 'calls of POST /send a month')
    .option('--embed-api <n|unlimited>', 'calls of the Embed API a month')
    .option('--broadcast-minutes <n|unlimited>', 'live minutes a month')
    .option('--webinar-courses <yes|no>', 'whether a webinar may carry a course')
    .action(
      cli.run(async ({ out, operate }, name: string, options: Record<string, string>) => {
        const change = Object.fromEntries(Object.entries(options).map(([flag, text]) => [flag, limitOf(flag, text)]))
        if (Object.keys(change).length === 0) {
          throw new Problem('usage', 'Name at least one limit', { hint: 'svc plans set --help' })
        }
        const { setPlanLimits } = await import('./accounts.ts')
        out.one(await operate((operation) => setPlanLimits(operation, name, change)))
      }),
    )
}

const limitOf = (flag: string, text: string): number | boolean | null => {
  if (flag === 'webinarCourses') {
    if (text === 'yes' || text === 'no') return text === 'yes'
    throw new Problem('usage', '--webinar-courses must be yes or no')
  }
  if (text === 'unlimited') return null
  if (/^\d{1,10}$/.test(text)) return Number(text)
  throw new Problem('usage', `A limit must be a whole number or unlimited, not ${text}`)
}

const keys: CommandSet = (cli) => {
  const noun = cli.noun('keys')

  noun
    .command('create')
    .description('Create an API key; it is shown once')
    .option('--name <name>', 'what it is for')
    .action(
      cli.run(async ({ out, require, work }, options: { name?: string }) => {
        const { name } = await require({ name: options.name })
        const { createKey } = await import('./accounts.ts')
        out.secret(await work((w) => createKey(w, { name })), 'key')
      }),
    )

  noun
    .command('list', { isDefault: true })
    .description('List the keys')
    .action(
      cli.run(async ({ out, work }) => {
        const { listKeys } = await import('./accounts.ts')
        await out.list('keys', await work(listKeys), keyColumns)
      }),
    )

  noun
    .command('revoke')
    .description('Revoke a key, at once and for good; the webhooks that it made are disabled')
    .argument('<id>')
    .option('--yes', 'do it without asking')
    .option('--dry-run', 'say what would happen')
    .action(
      cli.run(async ({ out, work, confirm }, id: string, options: { yes?: boolean; dryRun?: boolean }) => {
        const { planRevocation, revokeKey } = await import('./accounts.ts')
        const planned = await work((w) => planRevocation(w, id))
        const { subscriptions, deliveries } = planned
        const what = `revoke ${id}, disable the webhooks that it made (${subscriptions}) and cancel their pending deliveries (${deliveries})`
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
