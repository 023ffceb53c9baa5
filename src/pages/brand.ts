import type { Brand } from '../accounts/accounts.ts'
import { readableOn, shapeContrast, textContrast, visibleOn } from '../lib/colors.ts'
import { type Html, html } from './html.ts'

/*
 * How an account's brand looks on hosted pages and in built-in emails: logo or name above the content, the colour of buttons and
 * links, the address and the privacy policy below. Its colour is used as far as it can be seen and read.
 */

/** The grounds of pages and emails: behind the content, and around it. */
const grounds = { light: ['#ffffff', '#f6f7f9'], dark: ['#1a2027', '#101418'] } as const

export interface BrandColors {
  /** Of buttons. */
  act: string
  onAct: string
  /** Of links, and of the frame around what has the focus. */
  link: string
}

/** Returns the colours that follow from an account's colour. */
export const brandColors = (color: string, scheme: 'light' | 'dark'): BrandColors => {
  const act = visibleOn(grounds[scheme], color, shapeContrast)
  return { act, onAct: readableOn(act), link: visibleOn(grounds[scheme], color, textContrast) }
}

const variables = (color: string, scheme: 'light' | 'dark'): string => {
  const { act, onAct, link } = brandColors(color, scheme)
  return `:root { --act: ${act}; --on-act: ${onAct}; --link: ${link} }`
}

const layout = `
.brand { margin: 0 0 1.25rem; font-weight: 600; line-height: 1.25 }
.brand img { display: block; max-width: min(100%, 15rem); max-height: 3rem }
.imprint { max-width: 34rem; margin: 1rem auto 0; padding: 0 1.5rem; font-size: .875rem; color: var(--quiet); text-align: center }
.imprint p { margin: 0 0 .25rem }
.imprint a { color: inherit }
`

/** Returns what a brand adds to the style of a page; empty without one. */
export const brandStyle = (brand: Brand | null): string => {
  if (!brand || !hasBrand(brand)) return ''
  const { color } = brand
  if (color === null) return layout
  return `
${variables(color, 'light')}
@media (prefers-color-scheme: dark) { ${variables(color, 'dark')} }
a { color: var(--link) }
:focus-visible { outline-color: var(--link) }
${layout}`
}

/** Returns whether a brand has anything to show. */
export const hasBrand = ({ brandName, logo, color, postalAddress, privacyUrl }: Brand): boolean =>
  [brandName, logo, color, postalAddress, privacyUrl].some((value) => value !== null)

/** Returns the lines of a text with a line break between them. */
const withBreaks = (text: string): Html[] => text.split(/\r?\n/).map((line, i) => html`${i > 0 && html`<br>`}${line}`)

/** Returns the name to write before the address, unless the address has it. */
const nameBefore = ({ brandName, postalAddress }: Brand): string | null =>
  brandName && postalAddress?.includes(brandName) ? null : brandName

/** Returns what stands above the content of a page; `base` is the path of the public URL. */
export const brandHeader = ({ brandName, logo }: Brand, base: string): Html => {
  if (logo) return html`<p class="brand"><img src="${base}${logo}" alt="${brandName ?? ''}"></p>\n`
  return brandName ? html`<p class="brand">${brandName}</p>\n` : html``
}

/** Returns what stands below a page. */
export const brandFooter = (brand: Brand): Html => {
  const { postalAddress, privacyUrl } = brand
  if (!postalAddress && !privacyUrl) return html``
  const brandName = nameBefore(brand)
  return html`<footer class="imprint">
${brandName && html`<p>${brandName}</p>\n`}${postalAddress && html`<p>${withBreaks(postalAddress)}</p>\n`}${
  privacyUrl && html`<p><a href="${privacyUrl}" rel="noopener noreferrer">Privacy policy</a></p>\n`
}</footer>
`
}

const logoStyle = 'height:40px;width:auto;max-width:100%;object-fit:contain;object-position:left'

/** Returns what stands above the content of an email; `base` is the public URL. */
export const mailHeader = ({ brandName, logo }: Brand, base: string): Html => {
  if (logo)
    return html`<p style="margin:0 0 20px">
<img src="${base}${logo}" alt="${brandName ?? ''}" height="40" style="${logoStyle}">
</p>
`
  return brandName ? html`<p style="margin:0 0 20px;font-weight:600">${brandName}</p>\n` : html``
}

const imprint = 'max-width:34rem;margin:16px auto 0;color:#57606a;font-size:13px;text-align:center'

const mailPrivacy = (url: string): Html => html`<p style="margin:0">
<a class="imprint" href="${url}" style="color:#57606a">Privacy policy</a>
</p>
`

/** Returns what stands below an email. */
export const mailFooter = (brand: Brand): Html => {
  const { postalAddress, privacyUrl } = brand
  if (!postalAddress && !privacyUrl) return html``
  const brandName = nameBefore(brand)
  return html`<div class="imprint" role="contentinfo" style="${imprint}">
${brandName && html`<p style="margin:0 0 4px">${brandName}</p>\n`}${
  postalAddress && html`<p style="margin:0 0 4px">${withBreaks(postalAddress)}</p>\n`
}${privacyUrl && mailPrivacy(privacyUrl)}</div>
`
}

/** Returns what stands below the text of an email. */
export const mailFooterText = (brand: Brand): string => {
  const { postalAddress, privacyUrl } = brand
  if (!postalAddress && !privacyUrl) return ''
  const lines = [nameBefore(brand), postalAddress, privacyUrl && `Privacy policy: ${privacyUrl}`].filter(Boolean)
  return `\n-- \n${lines.join('\n')}\n`
}
