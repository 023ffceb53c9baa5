import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { palette } from '../lib/palette.ts'
import { compileMjml, node } from '../studio/studio.ts'
import { maxLogo } from './plain-mail.ts'

/*
 * The design of built-in emails in MJML. `npm run mails` compiles it to plain-mail.frame.ts, so no process loads MJML to send
 * one. Their texts and colours are slots such as `{{title}}`. A piece begins at `%%name%%`, and an email has any number of it.
 */

const piece = (name: string) => node('mj-raw', {}, `%%${name}%%`)

const { light } = palette
/** The colours of an account. MJML takes only colours here, so others stand in for their slots. */
const standIns = { act: '#0a0b01', onAct: '#0a0b02', link: '#0a0b03' }

const text = (content: string, attributes: Record<string, string> = {}) => node('mj-text', attributes, content)

const styleOf = (...declarations: readonly string[]): string => `style="${declarations.join(';')}"`

// Proportions stay, also without a width: logos from before their size was read have none.
const logoStyle = styleOf(
  'display:block',
  'border:0',
  'max-width:100%',
  'height:auto',
  `max-height:${maxLogo.height}px`,
)
const logo = `<img src="{{src}}" alt="{{alt}}" width="{{width}}" height="{{height}}" ${logoStyle}>`

const panelStyle = styleOf(
  ...['padding:14px 18px', `border-left:4px solid ${standIns.act}`, 'border-radius:4px', `background:${light.ground}`],
)
const grid = 'role="presentation" border="0" cellpadding="0" cellspacing="0" width="100%"'
const panelTitle = '<strong style="font-size:18px;line-height:1.35">{{title}}</strong>'
const panel = `<table ${grid} style="border-collapse:separate">
<tr><td class="panel" bgcolor="${light.ground}" ${panelStyle}>${panelTitle}{{lines}}</td></tr>
</table>`

/** Dark mode. Clients that drop the style sheet use the inline styles. */
const dark = `@media (prefers-color-scheme: dark) {
body, .page, .ground, .ground > table { background: ${palette.dark.ground} !important }
.card, .card > table { background: ${palette.dark.card} !important }
.card > table > tbody > tr > td { border-color: ${palette.dark.line} !important }
.ink > div { color: ${palette.dark.ink} !important }
.imprint > div, .imprint a { color: ${palette.dark.quiet} !important }
.panel { background: ${palette.dark.ground} !important; border-left-color: {{darkAct}} !important }
.link { color: {{darkLink}} !important }
.button > table > tbody > tr > td, .button a { background: {{darkAct}} !important; color: {{darkOnAct}} !important }
}`

const font = "'Segoe UI', Roboto, Helvetica, Arial, sans-serif"
/** Keeps clients from showing the beginning of the content after the preheader. */
const filler = '&#847;&zwnj;&nbsp;'.repeat(50)

const head = node('mj-head', {}, [
  node('mj-title', {}, '{{title}}'),
  node('mj-raw', {}, '<meta name="color-scheme" content="light dark">'),
  node('mj-style', {}, dark),
  node('mj-preview', {}, `{{preheader}}${filler}`),
  node('mj-attributes', {}, [
    node('mj-all', { 'font-family': font }, []),
    node(
      'mj-text',
      { 'css-class': 'ink', color: light.ink, 'font-size': '16px', 'line-height': '1.5', padding: '0 0 16px' },
      [],
    ),
    node('mj-button', { 'font-size': '16px', 'font-weight': '600', 'border-radius': '8px', padding: '8px 0 24px' }, []),
  ]),
])

const content = node('mj-column', {}, [
  piece('logo'),
  text(logo, { padding: '0 0 24px' }),
  piece('name'),
  text('{{name}}', { 'font-weight': '600', padding: '0 0 20px' }),
  piece('heading'),
  text('<h1 style="margin:0;font-size:24px;line-height:1.25;font-weight:700">{{heading}}</h1>'),
  piece('text'),
  text('{{text}}'),
  piece('panel'),
  text(panel, { padding: '4px 0 20px' }),
  piece('button'),
  node(
    'mj-button',
    {
      href: '{{url}}',
      'css-class': 'button',
      'background-color': standIns.act,
      color: standIns.onAct,
      align: 'left',
      'inner-padding': '12px 24px',
    },
    '{{label}}',
  ),
  piece('link'),
  text(`<a href="{{url}}" class="link" style="color:${standIns.link}">{{label}}</a>`, { padding: '0 0 12px' }),
  piece('end'),
])

const card = {
  'background-color': light.card,
  border: `1px solid ${light.line}`,
  'border-radius': '12px',
  padding: '32px 28px 20px',
  'css-class': 'card',
}

const imprint = node('mj-section', { padding: '16px 28px 0' }, [
  node('mj-column', {}, [
    text('{{imprint}}', {
      align: 'center',
      color: light.quiet,
      'font-size': '13px',
      padding: '0',
      'css-class': 'imprint',
    }),
  ]),
])

const mail = node('mjml', { lang: '{{lang}}' }, [
  head,
  node('mj-body', { width: '600px', 'background-color': light.ground, 'css-class': 'page' }, [
    node('mj-wrapper', { padding: '24px 16px', 'css-class': 'ground' }, [
      node('mj-section', card, [content]),
      piece('imprint'),
      imprint,
      piece('finish'),
    ]),
  ]),
])

const quoted = (html: string): string => `\`${html.replace(/[\\`]|\$\{/g, '\\$&')}\``

/** Returns the source of plain-mail.frame.ts. */
export const compileFrame = async (): Promise<string> => {
  let html = await compileMjml(mail)
  for (const [name, color] of Object.entries(standIns)) html = html.replaceAll(color, `{{${name}}}`)
  const [begin, ...others] = html.split(/%%(\w+)%%/)
  const pieces = [['begin', begin!]]
  for (let i = 0; i < others.length; i += 2) pieces.push([others[i]!, others[i + 1]!])
  const lines = pieces.map(([name, source]) => `  ${name}: ${quoted(source!)},\n`)
  return `// Compiled from plain-mail.mjml.ts by \`npm run mails\`: do not edit.

/** The pieces of built-in emails, with slots. */
export const frame = {
${lines.join('')}}
`
}

export const target = join(import.meta.dirname, 'plain-mail.frame.ts')

if (import.meta.main) await writeFile(target, await compileFrame())
