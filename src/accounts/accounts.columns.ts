// Generated from accounts.entities.ts by `npm run columns`: do not edit.
import { table } from '../store/tables.ts'

export const accounts = table('accounts', {
  id: 'text',
  name: 'text',
  slug: 'text?',
  plan: 'text',
  contactCount: 'int4',
  createdAt: 'timestamptz',
  deletedAt: 'timestamptz?',
  move: 'text?',
  moveId: 'text?',
})

export const apiKeys = table('api_keys', {
  id: 'text',
  accountId: 'text',
  name: 'text',
  hash: 'text',
  prefix: 'text',
  lastFour: 'text',
  scopes: '_text?',
  createdAt: 'timestamptz',
  expiresAt: 'timestamptz?',
  revokedAt: 'timestamptz?',
  lastUsedAt: 'timestamptz?',
})

export const brands = table('brands', {
  accountId: 'text',
  brandName: 'text?',
  logo: 'bytea?',
  logoType: 'text?',
  logoHash: 'text?',
  logoWidth: 'int4?',
  logoHeight: 'int4?',
  color: 'text?',
  postalAddress: 'text?',
  privacyUrl: 'text?',
  timezone: 'text?',
  lang: 'text?',
})

export const plans = table('plans', {
  name: 'text',
  position: 'int4',
  contacts: 'int4?',
  sends: 'int4?',
  sendApiCalls: 'int4?',
  embedApi: 'int4?',
  broadcastMinutes: 'int4?',
  webinarCourses: 'bool',
})

export const quotaUses = table('quota_uses', {
  accountId: 'text',
  quota: 'text',
  month: 'date',
  used: 'int4',
})

export const rateWindows = table('rate_windows', {
  keyId: 'text',
  family: 'text',
  startedAt: 'timestamptz',
  used: 'int4',
})
