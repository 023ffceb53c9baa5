import { conflict, invalid, missing } from '../lib/problem.ts'
import { lockKey } from '../store/locks.ts'
import type { App, Operation, Work } from '../store/work.ts'

const pattern = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/

/** What the server's own paths begin with, or may one day; the paths of pages for recipients are of one letter. */
const reserved = new Set(
  `account accounts admin app assets api auth dashboard dev docs embed favicon graphql health healthz help join livez
  live login logout mail metrics oauth openapi pages portal public readyz robots signin signup static status svc
  support webhooks well-known www`.split(/\s+/),
)

/** Whether a path that begins with it is the server's own, and no membership's. */
export const isReservedSlug = (slug: string): boolean => slug.length === 1 || reserved.has(slug)

/**
 * Claims the membership's part of portal URLs for an account (id); the one that it had is free again. Throws Problem
 * `invalid` for what can't stand in a host name or is reserved, `conflict` where another account has it, `missing` where the account is gone or going.
 */
export const takeSlug = async ({ sql }: Operation, accountId: string, slug: string): Promise<void> => {
  if (!pattern.test(slug)) throw invalid('slug must be 1 to 63 lower-case letters, digits and inner hyphens')
  if (isReservedSlug(slug)) throw invalid(`The slug ${slug} is reserved`)
  // One claim at a time: of two on the same slug the second one is told, not failed by the index.
  await sql(`select pg_advisory_xact_lock(${lockKey('slugs')})`)
  const rows = await sql(
    `update accounts set slug = $2
     where id = $1 and deleted_at is null and not exists (select from accounts where slug = $2 and id <> $1) returning 1`,
    [accountId, slug],
  )
  if (rows.length > 0) return
  const lives = await sql('select from accounts where id = $1 and deleted_at is null', [accountId])
  throw lives.length > 0 ? conflict(`The slug ${slug} is taken`) : missing('There is no such account')
}

/** The account's slug; null where it has claimed none. Throws Problem `missing` where the account is gone. */
export const slugOf = async ({ sql, accountId }: Pick<Work, 'sql' | 'accountId'>): Promise<string | null> => {
  const [account] = await sql<{ slug: string | null }>(
    'select slug from accounts where id = $1',
    [accountId],
    'slug-of',
  )
  if (!account) throw missing('There is no such account')
  return account.slug
}

/** The id of the account whose membership has the slug; null where there is none, or it is being deleted. */
export const accountOfSlug = async ({ sql }: Pick<App, 'sql'>, slug: string): Promise<string | null> => {
  if (!pattern.test(slug)) return null
  const [account] = await sql<{ id: string }>(
    'select id from accounts where slug = $1 and deleted_at is null',
    [slug],
    'account-of-slug',
  )
  return account?.id ?? null
}
