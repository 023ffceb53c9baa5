import { escapeHtml } from '../lib/escape-html.ts'

/** Safe HTML, which is built by `html` or escaped. */
export interface Html {
  readonly text: string
}

export type HtmlPart = Html | string | number | null | undefined | false | readonly HtmlPart[]

const render = (part: HtmlPart): string => {
  if (part === null || part === undefined || part === false) return ''
  if (typeof part === 'string' || typeof part === 'number') return escapeHtml(String(part))
  if ('text' in part) return part.text
  return part.map(render).join('')
}

/** Template tag that escapes values, except `Html`, and omits null, undefined and false. */
export const html = (strings: TemplateStringsArray, ...values: HtmlPart[]): Html => ({
  text: strings.reduce((text, string, i) => text + render(values[i - 1]) + string),
})
