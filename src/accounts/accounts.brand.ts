import { z } from 'zod'
import { Color, Lang } from '../lib/common-shapes.ts'
import type { Locale } from '../lib/dates.ts'
import { given } from '../lib/given.ts'
import { imageFacts } from '../lib/image.ts'
import type { ImageSize } from '../lib/image-size.ts'
import { parse } from '../lib/parse.ts'
import { text } from '../lib/text.ts'
import { Timezone } from '../lib/timezone.ts'
import type { Sql } from '../store/database.ts'
import { preparedStatement } from '../store/statement.ts'
import { columns } from '../store/tables.ts'
import type { Operation } from '../store/work.ts'
import { brands } from './accounts.columns.ts'
import { lockAccount } from './accounts.rows.ts'

/** What hosted pages and built-in emails show of an account, and how they write dates. It is null if it says nothing, or the default. */
export interface Brand extends Locale {
  brandName: string | null
  /** The path of the logo, from the public URL. */
  logo: string | null
  /** It is null if it is unknown. */
  logoSize: ImageSize | null
  color: string | null
  postalAddress: string | null
  privacyUrl: string | null
}

const isWebUrl = (url: string): boolean => /^https?:\/\//i.test(url) && URL.canParse(url)

/** A change of the brand. A property that is null removes its value. */
const BrandChange = z.object({
  brandName: text(200).trim().min(1).nullable().optional(),
  color: Color.toLowerCase().nullable().optional(),
  postalAddress: text(500).trim().min(1).nullable().optional(),
  privacyUrl: text(2_000).refine(isWebUrl, 'must be an http or https URL').nullable().optional(),
  timezone: Timezone.nullable().optional(),
  lang: Lang.transform((lang) => Intl.getCanonicalLocales(lang)[0]!)
    .nullable()
    .optional(),
})

export type BrandChange = z.input<typeof BrandChange> & { logo?: Buffer | null }

/** The maximum size of a logo in bytes. */
export const logoMaxBytes = 200 * 1024

const shownColumns = columns(brands, [
  'brandName',
  'logoHash',
  'logoWidth',
  'logoHeight',
  'color',
  'postalAddress',
  'privacyUrl',
  'timezone',
  'lang',
])

const readRow = preparedStatement(
  'read-brand',
  { row: shownColumns.types, parameters: { accountId: 'text' } },
  `select ${shownColumns.list} from brands where account_id = :accountId`,
)

/** A row with only nulls. */
const empty = shownColumns.after({}, {})

/** Returns the path of an account's logo. The hash changes with the image, so that browsers load a new one. */
const logoPath = (accountId: string, logoHash: string): string => `/assets/${accountId}/logo?v=${logoHash}`

/** Returns the brand of an account. One without any has only nulls. */
export const readBrand = async ({ sql, accountId }: { sql: Sql; accountId: string }): Promise<Brand> => {
  const [row = empty] = await sql(readRow, { accountId })
  const { logoHash, logoWidth: width, logoHeight: height, ...brand } = row
  return {
    ...brand,
    logo: logoHash && logoPath(accountId, logoHash),
    logoSize: width !== null && height !== null ? { width, height } : null,
  }
}

/** Returns how an account writes dates. `timezone` precedes that of the account. */
export const readLocale = async (reader: { sql: Sql; accountId: string }, timezone: string | null): Promise<Locale> => {
  const brand = await readBrand(reader)
  return { lang: brand.lang, timezone: timezone ?? brand.timezone }
}

/** Returns the columns of a logo. Throws Problem `invalid`. */
const logoValues = (logo: Buffer | null) => {
  const { type = null, hash = null, width = null, height = null } = logo ? imageFacts('logo', logo, logoMaxBytes) : {}
  return { logo, logoType: type, logoHash: hash, logoWidth: width, logoHeight: height }
}

/** Changes the named values of an account's brand. Throws Problem `invalid`. */
export const changeBrand = async (operation: Operation, accountId: string, change: BrandChange): Promise<Brand> => {
  const { logo, ...rest } = change
  const values = given({ ...parse(BrandChange, rest), ...(logo !== undefined && logoValues(logo)) })
  const account = { sql: operation.sql, accountId }
  await lockAccount(account)
  const [em, { Brand }] = await operation.em(import('./accounts.entities.ts'))
  await em.upsert(Brand, { accountId, ...values })
  // If this unit of work has written the row before, `upsert` has only changed the entity.
  await em.flush()
  return readBrand(account)
}

const readLogo = preparedStatement(
  'read-logo',
  { row: { content: 'bytea', type: 'text' }, parameters: { accountId: 'text' } },
  'select logo as content, logo_type as type from brands where account_id = :accountId and logo is not null',
)

/** Returns the logo of an account, or null if it has none. */
export const logoOf = async ({ sql, accountId }: { sql: Sql; accountId: string }) => {
  const [logo = null] = await sql(readLogo, { accountId })
  return logo
}
