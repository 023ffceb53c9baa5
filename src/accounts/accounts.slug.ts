import { lockKey } from '../lib/locks.ts'
import { conflict, invalid, notFound, shown } from '../lib/problem.ts'
import { preparedStatement, statement } from '../store/statement.ts'
import type { AccountSql, App, Operation } from '../store/work.ts'
import { requireHere } from './accounts.move.ts'

const pattern = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/** First segments of the server's own paths, now or in future. One-letter segments are the pages for recipients. */
const reserved = new Set(
  `account accounts admin app assets api auth dashboard dev docs embed favicon graphql health healthz help join livez
  live login logout mail metrics oauth openapi pages portal public readyz robots signin signup static status svc
  support webhooks webinar webinars well-known www`.split(/\s+/),
)

/** Returns whether paths that begin with this segment belong to the server, so no account can claim it. */
export const isReservedSlug = (slug: string): boolean => slug.length === 1 || reserved.has(slug)

// One claim at a time: the second of two claims for a slug gets a clear error instead of a violated index.
const lockSlugs = statement('lock-slugs', {}, `select from pg_advisory_xact_lock(${lockKey('slugs')})`)

const setSlug = statement(
  'set-slug',
  { row: { id: 'text' }, parameters: { accountId: 'text', slug: 'text' } },
  `update accounts set slug = :slug
   where id = :accountId and deleted_at is null and not exists (select from accounts where slug = :slug and id <> :accountId) returning id`,
)

const findActive = statement(
  'find-active-account',
  { parameters: { accountId: 'text' } },
  'select from accounts where id = :accountId and deleted_at is null',
)

/**
 * Claims a slug for the portal URLs of an account (id), and frees its previous one. Throws Problem `invalid` if the slug is not a
 * host name label or is reserved, `conflict` if another account has it, `not_found` if the account is deleted or being deleted.
 */
export const takeSlug = async ({ sql }: Operation, accountId: string, slug: string): Promise<void> => {
  if (!pattern.test(slug)) throw invalid('slug must be 1 to 63 lower-case letters, digits and inner hyphens')
  if (isReservedSlug(slug)) throw invalid(`The slug ${shown(slug)} is reserved`)
  await sql(lockSlugs)
  const rows = await sql(setSlug, { accountId, slug })
  if (rows.length > 0) return
  const existing = await sql(findActive, { accountId })
  throw existing.length > 0 ? conflict(`The slug ${shown(slug)} is taken`) : notFound('There is no such account')
}

const readSlug = preparedStatement(
  'slug-of',
  { row: { slug: 'text?' }, parameters: { accountId: 'text' } },
  'select slug from accounts where id = :accountId',
)

/** Returns the account's slug, or null if it has claimed none. Throws Problem `not_found` if the account is gone. */
export const slugOf = async ({ sql, accountId }: AccountSql): Promise<string | null> => {
  const [account] = await sql(readSlug, { accountId })
  if (!account) throw notFound('There is no such account')
  return account.slug
}

const findBySlug = preparedStatement(
  'account-of-slug',
  { row: { id: 'text' }, parameters: { slug: 'text' } },
  'select id from accounts where slug = :slug and deleted_at is null',
)

/**
 * Returns the id of the account with the slug; null if there is none or it is being deleted. Throws Problem `unavailable` or `gone`
 * if it is exported.
 */
export const accountOfSlug = async (app: Pick<App, 'sql' | 'database'>, slug: string): Promise<string | null> => {
  if (!pattern.test(slug)) return null
  const [account] = await app.sql(findBySlug, { slug })
  if (account) await requireHere(app, account.id)
  return account?.id ?? null
}
