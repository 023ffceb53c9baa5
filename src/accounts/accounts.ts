import { z } from 'zod'
import { newId } from '../lib/ids.ts'
import { byName } from '../lib/names.ts'
import { parse } from '../lib/parse.ts'
import { conflict, noSuch, Problem, shown } from '../lib/problem.ts'
import { text } from '../lib/text.ts'
import type { RowOf } from '../store/column-types.ts'
import { type InEpochMs, inEpochMs } from '../store/epoch-ms.ts'
import { statement } from '../store/statement.ts'
import { columns, types } from '../store/tables.ts'
import type { Operation } from '../store/work.ts'
import { type Brand, type BrandChange, changeBrand, readBrand } from './accounts.brand.ts'
import { accounts } from './accounts.columns.ts'
import { type AccountState, requireActive, stateOf } from './accounts.move.ts'
import { showPlan } from './accounts.plans.ts'
import { takeSlug } from './accounts.slug.ts'

export { admit, requireAdmission, requirePublicWrite } from './accounts.admission.ts'
export { type Brand, readBrand, readLocale } from './accounts.brand.ts'
export { contactsLeft, countingContacts, readContactsLeft } from './accounts.contacts.ts'
export { countOwned, findDeletable } from './accounts.delete.ts'
export { createKey, listKeys } from './accounts.keys.ts'
export {
  abortExport,
  beginExport,
  completeExport,
  insertAccountRow,
  readAccountRow,
  refuseWork,
  releaseImported,
  requireHere,
  requireNoMove,
  resumeAccount,
} from './accounts.move.ts'
export { listPlans } from './accounts.plans.ts'
export {
  accountUsage,
  allowsWebinarCourses,
  countUse,
  nearLimits,
  type Quota,
  quotaLeft,
  quotaState,
  requireEmbedUnit,
  returnQuota,
  secondsToNextMonth,
  takeEmbedUnits,
  takeQuotas,
  takeQuotaUpTo,
} from './accounts.quotas.ts'
export { hasAccount, hasAccounts, lockAccount, lockActiveKey } from './accounts.rows.ts'
export { isInScope, type Scope, scopes, scopesOf } from './accounts.scopes.ts'
export { accountOfSlug, isReservedSlug, slugOf } from './accounts.slug.ts'
export { noteUse } from './accounts.use.ts'

const NewAccount = z.object({ name: text(200).trim().min(1, 'is required'), plan: text(100) })

const accountColumns = columns(accounts, ['id', 'name', 'slug', 'plan', 'contactCount', 'createdAt', 'move'])

type AccountRow = RowOf<typeof accountColumns.types>

export type AccountView = InEpochMs<Omit<AccountRow, 'move'>> & { state: AccountState }

const view = ({ move, ...account }: AccountRow): AccountView => ({ ...inEpochMs(account), state: stateOf(move) })

// SQL instead of entities: every command of an account runs these first, and would otherwise have to load MikroORM, which takes
// 0.1 s and 23 MB. So would `svc accounts create`, `svc keys create` and `svc listen`, which insert one row each.
const selectAccounts = `select ${accountColumns.list} from accounts where deleted_at is null`

const entitiesOf = (operation: Operation) => operation.em(import('./accounts.entities.ts'))

const newColumns = columns(accounts, ['id', 'name', 'plan', 'createdAt'])

const insertAccount = statement(
  'insert-account',
  { row: accountColumns.types, parameters: newColumns.types },
  `insert into accounts (${newColumns.names}) values (${newColumns.values}) on conflict (name) do nothing
   returning ${accountColumns.list}`,
)

const readNamesake = statement(
  'find-account-of-name',
  { row: types(accounts, 'id', 'deletedAt'), parameters: types(accounts, 'name') },
  'select id, deleted_at as "deletedAt" from accounts where name = :name',
)

/** Throws Problem `conflict` if the name is taken, also by an account that is still being deleted; `not_found` for an unknown plan. */
export const createAccount = async (operation: Operation, input: z.input<typeof NewAccount>): Promise<AccountView> => {
  const { name, plan } = parse(NewAccount, input)
  await showPlan(operation, plan)
  const { sql, now } = operation
  const [account] = await sql(insertAccount, { id: newId('acc', now.getTime()), name, plan, createdAt: now })
  if (account) return view(account)
  const [found] = await sql(readNamesake, { name })
  throw found?.deletedAt
    ? conflict(`The account ${shown(name)} is still being deleted`, { hint: `svc accounts delete ${found.id}` })
    : conflict(`There is already an account named ${shown(name)}`)
}

const readAccounts = statement('list-accounts', { row: accountColumns.types }, `${selectAccounts} order by id`)

export const listAccounts = async ({ sql }: Operation): Promise<AccountView[]> =>
  (await sql(readAccounts)).sort(byName('name')).map(view)

const readAccount = statement(
  'find-account',
  { row: accountColumns.types, parameters: { ref: 'text' } },
  `${selectAccounts} and (id = :ref or name = :ref) order by id = :ref desc limit 1`,
)

/** Finds an account by id or name, except one that is being deleted. Throws Problem `not_found`. */
const findAccount = async ({ sql }: Operation, ref: string): Promise<AccountView> => {
  const [account] = await sql(readAccount, { ref })
  if (!account) throw noSuch('account', ref, { hint: 'svc accounts list' })
  return view(account)
}

/** As `findAccount`, for a change. Throws Problem `unavailable` or `gone` if the account is moving or has moved. */
const findChangeable = async (operation: Operation, ref: string): Promise<AccountView> => {
  const account = await findAccount(operation, ref)
  requireActive(account.state)
  return account
}

/** Returns an account, by its id or name, with its brand. Throws Problem `not_found`. */
export const showAccount = async (operation: Operation, ref: string): Promise<AccountView & Brand> => {
  const account = await findAccount(operation, ref)
  return { ...account, ...(await readBrand({ sql: operation.sql, accountId: account.id })) }
}

/**
 * Changes the brand of an account (id or name) and returns the account with it. Throws Problem `invalid`, `not_found`, or what
 * `requireActive` throws.
 */
export const updateAccount = async (
  operation: Operation,
  ref: string,
  change: BrandChange,
): Promise<AccountView & Brand> => {
  const account = await findChangeable(operation, ref)
  return { ...account, ...(await changeBrand(operation, account.id, change)) }
}

const readFirstAccounts = statement(
  'first-accounts',
  { row: accountColumns.types },
  `${selectAccounts} order by name limit 21`,
)

/**
 * Returns the account for a command: the named one, or the only one (docs/reference/cli.md#conventions). Throws Problem `not_found`, or
 * `usage` if there are several and none is named.
 */
export const chooseAccount = async (operation: Operation, ref?: string): Promise<{ id: string; name: string }> => {
  if (ref !== undefined) return findAccount(operation, ref)
  const accounts = await operation.sql(readFirstAccounts)
  if (accounts.length === 1) return accounts[0]!
  if (accounts.length === 0)
    throw new Problem('not_found', 'There is no account yet', { hint: 'svc accounts create --name <name>' })
  const names = accounts
    .slice(0, 20)
    .sort(byName('name'))
    .map((account) => account.name)
  const more = accounts.length > 20 ? ', …' : ''
  throw new Problem('usage', `There is more than one account: ${names.join(', ')}${more}`, {
    hint: 'add --account <id|name>',
  })
}

export const setPlan = async (operation: Operation, ref: string, plan: string): Promise<AccountView> => {
  const account = await findChangeable(operation, ref)
  await showPlan(operation, plan)
  const [em, { Account }] = await entitiesOf(operation)
  await em.nativeUpdate(Account, { id: account.id }, { plan })
  return { ...account, plan }
}

/**
 * Claims a slug for the account and returns the account. Throws Problem `invalid` if the slug is malformed or reserved, `conflict` if
 * another account has it, `not_found` if there is no such account.
 */
export const claimSlug = async (operation: Operation, ref: string, slug: string): Promise<AccountView> => {
  const account = await findChangeable(operation, ref)
  await takeSlug(operation, account.id, slug)
  return { ...account, slug }
}

declare module '../store/work.ts' {
  interface Listener {
    /** A key was revoked: whatever depends on it ends in the same transaction. */
    keyRevoked?(work: Work, keyId: string): Promise<void>
    /** Counts what a revocation of the key would end: active subscriptions, and deliveries that wait for them. */
    keyEnds?(work: Work, keyId: string): Promise<{ subscriptions: number; deliveries: number }>
    /**
     * The account's deletion has begun: nothing more is sent for it from now on; its rows are deleted later. No unit of work of the
     * account begins any more, though some may still be running. Use a few set-based statements only (`em` has no account here).
     */
    accountClosed?(work: Work): Promise<void>
    /**
     * The export of the account has begun: jobs start no item of it any more, and release those that wait in their memory. Use a few
     * set-based statements only, as in `accountClosed`.
     */
    accountLeaves?(work: Work): Promise<void>
    /** The account was imported, or its export was aborted: jobs look for its due items. It may be called more than once. */
    accountArrived?(work: Work): Promise<void>
  }
}
