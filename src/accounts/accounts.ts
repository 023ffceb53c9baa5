import { z } from 'zod'
import { newId } from '../lib/ids.ts'
import { parse } from '../lib/parse.ts'
import { conflict, missing, Problem } from '../lib/problem.ts'
import { text } from '../lib/text.ts'
import type { Operation } from '../store/work.ts'
import { Account, Plan } from './accounts.entities.ts'
import { takeSlug } from './accounts.slug.ts'

export {
  accountUsage,
  countUse,
  type Quota,
  quotaStanding,
  secondsToNextMonth,
  showsCourses,
  takeQuota,
  takeUpTo,
  usedUp,
} from '../quotas/quotas.ts'
export { type Admission, admit, demandAdmission } from './accounts.admission.ts'
export { countOwned, type Deletion, deleteAccount, findDeletable } from './accounts.delete.ts'
export { demandEmbedUnit, takeEmbedUnits } from './accounts.embed.ts'
export { createKey, type KeyView, listKeys, revokeKey } from './accounts.keys.ts'
export { listPlans, type PlanView, setPlanLimits, showPlan } from './accounts.plans.ts'
export { accountOfSlug, isReservedSlug, slugOf } from './accounts.slug.ts'

const NewAccount = z.object({ name: text(200).trim().min(1, 'is required'), plan: text(100) })

export interface AccountView {
  id: string
  name: string
  slug: string | null
  plan: string
  contactCount: number
  createdAt: number
}

const view = ({ id, name, slug, plan, contactCount, createdAt }: Account): AccountView => ({
  id,
  name,
  slug: slug ?? null,
  plan,
  contactCount,
  createdAt: createdAt.getTime(),
})

const demandPlan = async ({ em }: Operation, name: string): Promise<void> => {
  if (!(await em.findOne(Plan, { name }))) throw missing(`There is no plan ${name}`, { hint: 'svc plans list' })
}

/** Throws `conflict` where the name is taken (also by an account that is still being deleted), `missing` for an unknown plan. */
export const createAccount = async (operation: Operation, input: z.input<typeof NewAccount>): Promise<AccountView> => {
  const { em, now } = operation
  const { name, plan } = parse(NewAccount, input)
  await demandPlan(operation, plan)
  const namesake = await em.findOne(Account, { name })
  if (namesake?.deletedAt) {
    throw conflict(`The account ${name} is still being deleted`, { hint: `svc accounts delete ${namesake.id}` })
  }
  if (namesake) throw conflict(`There is already an account named ${name}`)
  const account = em.create(Account, {
    id: newId('acc', now.getTime()),
    name,
    plan,
    contactCount: 0,
    createdAt: now,
  })
  await em.flush()
  return view(account)
}

export const listAccounts = async ({ em }: Operation): Promise<AccountView[]> =>
  (await em.find(Account, { deletedAt: null }, { orderBy: { name: 'asc' } })).map(view)

/** By id or by name; none that is being deleted. Throws `missing`. */
export const findAccount = async ({ em }: Operation, ref: string): Promise<Account> => {
  const account = await em.findOne(Account, { deletedAt: null, $or: [{ id: ref }, { name: ref }] })
  if (!account) throw missing(`There is no account ${ref}`, { hint: 'svc accounts list' })
  return account
}

export const showAccount = async (operation: Operation, ref: string): Promise<AccountView> =>
  view(await findAccount(operation, ref))

/** The account that a command works on: the named one, or the only one (cli.md, Conventions). */
export const chooseAccount = async (operation: Operation, ref?: string): Promise<{ id: string; name: string }> => {
  if (ref) return findAccount(operation, ref)
  const accounts = await operation.em.find(Account, { deletedAt: null }, { orderBy: { name: 'asc' }, limit: 21 })
  if (accounts.length === 1) return accounts[0]!
  if (accounts.length === 0)
    throw new Problem('missing', 'There is no account yet', { hint: 'svc accounts create --name <name>' })
  const names = accounts.slice(0, 20).map((account) => account.name)
  const more = accounts.length > 20 ? ', …' : ''
  throw new Problem('usage', `There is more than one account: ${names.join(', ')}${more}`, {
    hint: 'add --account <id|name>',
  })
}

export const setPlan = async (operation: Operation, ref: string, plan: string): Promise<AccountView> => {
  const account = await findAccount(operation, ref)
  await demandPlan(operation, plan)
  account.plan = plan
  await operation.em.flush()
  return view(account)
}

/** Claims a slug for the account, as `takeSlug` does, and gives the account. */
export const claimSlug = async (operation: Operation, ref: string, slug: string): Promise<AccountView> => {
  const account = await findAccount(operation, ref)
  await takeSlug(operation, account.id, slug)
  account.slug = slug
  return view(account)
}
