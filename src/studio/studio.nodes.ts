import { randomBytes } from 'node:crypto'
import { escapeHtml } from '../lib/html.ts'
import { tagParts } from '../lib/tags.ts'
import { joined, type Part } from './studio.template.ts'

/** An element as MJML takes it. */
export interface Node {
  tagName: string
  attributes: Record<string, string>
  children?: Node[]
  content?: string
}

export const node = (tagName: string, attributes: Record<string, string>, inside: string | Node[] = []): Node =>
  typeof inside === 'string' ? { tagName, attributes, content: inside } : { tagName, attributes, children: inside }

/**
 * What MJML does not get to see. It writes attributes and content as they come, so it gets nothing that an author wrote
 * but colours, lengths and fonts, whose shapes are narrow: for all else it gets a mark, a word that nobody could know, in
 * whose place the parts are put afterwards.
 */
export interface Slots {
  /** A mark for parts whose literals are HTML. */
  html(parts: readonly Part[]): string
  /** A mark for an author's text, merge tags in it: for content and for quoted attributes. */
  text(text: string): string
  /** The parts of what MJML made of the marks. */
  partsOf(html: string): Part[]
}

export const createSlots = (): Slots => {
  const mark = `mark${randomBytes(12).toString('hex')}x`
  const slots: (readonly Part[])[] = []
  const html = (parts: readonly Part[]) => `${mark}${slots.push(parts) - 1}x`
  return {
    html,
    text: (text) => html(textParts(text)),
    partsOf: (whole) => {
      const pieces = whole.split(new RegExp(`${mark}(\\d+)x`))
      return joined(pieces.flatMap((piece, i) => (i % 2 === 0 ? [piece] : slots[Number(piece)]!)))
    },
  }
}

/** An author's text as parts, its literals in HTML. */
export const textParts = (text: string): Part[] =>
  tagParts(text).map((part) => (typeof part === 'string' ? escapeHtml(part) : part))
