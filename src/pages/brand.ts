import type { Brand } from '../accounts/accounts.ts'
import { readableOn, shapeContrast, textContrast, visibleOn } from '../lib/colors.ts'
import { palette, type Scheme } from '../lib/palette.ts'
import { type Html, html } from './html.ts'

/*
 * How an account's brand looks on hosted pages and in built-in emails: logo or name above the content, the colour of buttons and
 * links, the address and the privacy policy below. Its colour is used as far as it can be seen and read.
 */

interface BrandColors {
  /** The colour of buttons. */
  act: string
  onAct: string
  /** The colour of links, and of the frame around what has the focus. */
  link: string
}

/** Returns the colours that follow from an account's colour, or null if there is none. */
export const brandColors = (color: string | null, scheme: Scheme): BrandColors => {
  const { card, ground, act: ownAct, onAct } = palette[scheme]
  if (color === null) return { act: ownAct, onAct, link: ownAct }
  const act = visibleOn([card, ground], color, shapeContrast)
  return { act, onAct: readableOn(act), link: visibleOn([card, ground], color, textContrast) }
}

/** Returns the colours of a built-in email, of dark mode with a prefix. */
export const mailColors = (color: string | null): Record<string, string> => {
  const dark = brandColors(color, 'dark')
  return { ...brandColors(color, 'light'), darkAct: dark.act, darkOnAct: dark.onAct, darkLink: dark.link }
}

const variables = (color: string, scheme: Scheme): string => {
  const { act, onAct, link } = brandColors(color, scheme)
  return `:root { --act: ${act}; --on-act: ${onAct}; --link: ${link} }`
}

const layout = `
.brand { margin: 0 0 1.25rem; padding: 0 0 1rem; border-bottom: 1px solid var(--line); font-weight: 600; line-height: 1.25 }
.brand img { display: block; max-width: min(100%, 15rem); max-height: 3rem }
.imprint { max-width: 34rem; margin: 1rem auto 0; padding: 0 1.5rem; font-size: .875rem; color: var(--quiet); text-align: center }
.imprint p { margin: 0 0 .25rem }
.imprint a { color: inherit }
`

/** Returns what a brand adds to the style of a page, or an empty text without one. */
export const brandStyle = (brand: Brand | null): string => {
  if (!brand || !hasBrand(brand)) return ''
  const { color } = brand
  if (color === null) return layout
  return `
${variables(color, 'light')}
@media screen and (prefers-color-scheme: dark) { ${variables(color, 'dark')} }
${layout}`
}

/** Returns whether a brand has anything to show. */
const hasBrand = ({ brandName, logo, color, postalAddress, privacyUrl }: Brand): boolean =>
  [brandName, logo, color, postalAddress, privacyUrl].some((value) => value !== null)

/** What stands below pages and emails. */
interface Imprint {
  /** The lines of name and address. */
  address: readonly string[]
  privacyUrl: string | null
}

/** Returns the imprint of an account: its name before the address, unless the address has it. */
export const imprintLines = ({ brandName, postalAddress, privacyUrl }: Brand): Imprint => {
  if (!postalAddress && !privacyUrl) return { address: [], privacyUrl: null }
  const name = brandName && !postalAddress?.includes(brandName) ? [brandName] : []
  return { address: [...name, ...(postalAddress?.split(/\r?\n/) ?? [])], privacyUrl }
}

/** Returns what stands above the content of a page; `base` is the path of the public URL. */
export const brandHeader = ({ brandName, logo }: Brand, base: string): Html => {
  if (logo) return html`<p class="brand"><img src="${base}${logo}" alt="${brandName ?? ''}"></p>\n`
  return brandName ? html`<p class="brand">${brandName}</p>\n` : html``
}

/** Returns what stands below a page. */
export const brandFooter = (brand: Brand): Html => {
  const { address, privacyUrl } = imprintLines(brand)
  if (address.length === 0 && !privacyUrl) return html``
  const lines = address.map((line, i) => html`${i > 0 && html`<br>`}${line}`)
  return html`<footer class="imprint">
${lines.length > 0 && html`<p>${lines}</p>\n`}${
  privacyUrl && html`<p><a href="${privacyUrl}" rel="noopener noreferrer">Privacy policy</a></p>\n`
}</footer>
`
}
