import { randomBytes } from 'node:crypto'
import { escapeHtml } from '../lib/html.ts'
import { tagParts } from '../lib/tags.ts'
import { mergeLiterals, type Part } from './studio.template.ts'

/** An element in MJML's JSON format. */
export interface Node {
  tagName: string
  attributes: Record<string, string>
  children?: Node[]
  content?: string
}

export const node = (tagName: string, attributes: Record<string, string>, inside: string | Node[] = []): Node =>
  typeof inside === 'string' ? { tagName, attributes, content: inside } : { tagName, attributes, children: inside }

/**
 * Placeholders for author text in MJML's input. MJML does not escape attributes and content, so of an author's input it gets only
 * colours, lengths and fonts, whose shapes are strict. Everything else is replaced by an unguessable mark before rendering and put
 * back afterwards.
 */
export interface Placeholders {
  /** Returns a mark for parts whose literals are HTML. */
  html(parts: readonly Part[]): string
  /** Returns a mark for an author's text with merge tags: for content and for quoted attributes. */
  text(text: string): string
  /** Replaces the marks in MJML's output by their parts. */
  partsOf(html: string): Part[]
}

export const createPlaceholders = (): Placeholders => {
  const mark = `mark${randomBytes(12).toString('hex')}x`
  const placeholders: (readonly Part[])[] = []
  const html = (parts: readonly Part[]) => `${mark}${placeholders.push(parts) - 1}x`
  return {
    html,
    text: (text) => html(textParts(text)),
    partsOf: (whole) => {
      const pieces = whole.split(new RegExp(`${mark}(\\d+)x`))
      return mergeLiterals(pieces.flatMap((piece, i) => (i % 2 === 0 ? [piece] : placeholders[Number(piece)]!)))
    },
  }
}

/** Returns an author's text as parts with escaped literals. */
export const textParts = (text: string): Part[] =>
  tagParts(text).map((part) => (typeof part === 'string' ? escapeHtml(part) : part))
