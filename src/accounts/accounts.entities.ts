import { defineEntity, p } from '@mikro-orm/postgresql'
import { owned, tenantFilter } from '../store/tenant.ts'

/** The limits of accounts. A limit is null if there is none (docs/reference/limits.md#plans-and-quotas). */
const PlanSchema = defineEntity({
  name: 'Plan',
  tableName: 'plans',
  properties: {
    name: p.text().primary(),
    position: p.integer(),
    contacts: p.integer().nullable(),
    sends: p.integer().nullable(),
    sendApiCalls: p.integer().nullable(),
    embedApi: p.integer().nullable(),
    broadcastMinutes: p.integer().nullable(),
    webinarCourses: p.boolean(),
  },
})
export class Plan extends PlanSchema.class {}
PlanSchema.setClass(Plan)

const AccountSchema = defineEntity({
  name: 'Account',
  tableName: 'accounts',
  indexes: [
    {
      name: 'accounts_deleted_index',
      expression: `create index "accounts_deleted_index" on "accounts" ("id") where "deleted_at" is not null`,
    },
    {
      name: 'accounts_closed_index',
      expression: `create index "accounts_closed_index" on "accounts" ("id") where "deleted_at" is not null or "move" is not null`,
    },
  ],
  properties: {
    id: p.text().collation('C').primary(),
    name: p.text().unique(),
    slug: p.text().nullable().unique(),
    plan: p.text(),
    /**
     * Number of distinct addresses. It is exact: the transaction that adds or removes them updates it
     * (contacts/write/write.count.ts).
     */
    contactCount: p.integer().default(0),
    createdAt: p.datetime(),
    /** When its deletion began. From then on the account can't be used, and its rows are deleted (accounts.delete.ts). */
    deletedAt: p.datetime().nullable(),
    /**
     * The state of its move. With `closing`, `exporting` or `exported` nothing of it runs in this installation
     * (accounts.move.ts). It is null while it runs here.
     */
    move: p.text().nullable(),
    /** Identifies its last export; in the installation that it came to, the one that brought it. */
    moveId: p.text().nullable(),
  },
})
export class Account extends AccountSchema.class {}
AccountSchema.setClass(Account)

/** What hosted pages and built-in emails show of an account (accounts.brand.ts). It is null if it says nothing. */
const BrandSchema = defineEntity({
  name: 'Brand',
  tableName: 'brands',
  properties: {
    accountId: p.text().collation('C').primary(),
    brandName: p.text().nullable(),
    logo: p.blob().nullable(),
    logoType: p.text().nullable(),
    /** The beginning of its SHA-256, for its URL. */
    logoHash: p.text().nullable(),
    /** The width of the logo in pixels. It is null if its header has no size. */
    logoWidth: p.integer().nullable(),
    logoHeight: p.integer().nullable(),
    /** `#1a2b3c` */
    color: p.text().nullable(),
    postalAddress: p.text().nullable(),
    privacyUrl: p.text().nullable(),
    timezone: p.text().nullable(),
    lang: p.text().nullable(),
  },
})
export class Brand extends BrandSchema.class {}
BrandSchema.setClass(Brand)

const ApiKeySchema = defineEntity({
  name: 'ApiKey',
  tableName: 'api_keys',
  filters: tenantFilter,
  indexes: [{ properties: ['accountId', 'id'] }],
  properties: {
    id: p.text().collation('C').primary(),
    ...owned,
    name: p.text(),
    /** SHA-256 of the whole key, hex. The key itself is never stored. */
    hash: p.text().collation('C').unique(),
    prefix: p.text(),
    lastFour: p.text(),
    /** What it may call (accounts.scopes.ts). It is null if it may call everything. */
    scopes: p.array().nullable(),
    createdAt: p.datetime(),
    /** From then on it is refused as a revoked key is, but ends nothing that it created. */
    expiresAt: p.datetime().nullable(),
    revokedAt: p.datetime().nullable(),
    /** The minute of its last use (accounts.use.ts). */
    lastUsedAt: p.datetime().nullable(),
  },
})
export class ApiKey extends ApiKeySchema.class {}
ApiKeySchema.setClass(ApiKey)

/**
 * Calls of one key in one route family in the current minute. The table is unlogged: after a crash of the server, a new window
 * starts.
 */
const RateWindowSchema = defineEntity({
  name: 'RateWindow',
  tableName: 'rate_windows',
  // Calls within a window change only `used`, so most updates touch no index.
  indexes: [{ properties: ['startedAt'] }],
  properties: {
    keyId: p.text().collation('C').primary(),
    family: p.text().primary(),
    startedAt: p.datetime(),
    used: p.integer(),
  },
})
export class RateWindow extends RateWindowSchema.class {}
RateWindowSchema.setClass(RateWindow)

/** Units of a monthly quota that an account has used. `month` is the first day of the UTC calendar month. */
const QuotaUseSchema = defineEntity({
  name: 'QuotaUse',
  tableName: 'quota_uses',
  properties: {
    accountId: p.text().collation('C').primary(),
    quota: p.text().primary(),
    month: p.date().primary(),
    used: p.integer(),
  },
})
export class QuotaUse extends QuotaUseSchema.class {}
QuotaUseSchema.setClass(QuotaUse)
