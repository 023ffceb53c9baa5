import { randomBytes } from 'node:crypto'
import { escapeHtml } from '../lib/escape-html.ts'
import type { Filter } from '../lib/filter.ts'
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
  /** Returns the elements of a block between two marks: what MJML makes of them is shown on this condition. */
  shownIf(condition: Filter | null, nodes: Node[]): Node[]
  /** Replaces the marks in MJML's output by their parts. */
  partsOf(html: string): Part[]
}

/** The beginning of what a condition shows, or its end. */
interface Boundary {
  begin: Filter | null
}

/** Returns the parts with those of each condition in one part. */
const nested = (found: readonly (Part | Boundary)[]): Part[] => {
  const open: { when: Filter | null; parts: Part[] }[] = [{ when: null, parts: [] }]
  for (const one of found) {
    if (typeof one === 'string' || !('begin' in one)) open.at(-1)!.parts.push(one)
    else if (one.begin) open.push({ when: one.begin, parts: [] })
    else {
      const { when, parts } = open.pop()!
      open.at(-1)!.parts.push({ when: when!, parts: mergeLiterals(parts) })
    }
  }
  return mergeLiterals(open[0]!.parts)
}

export const createPlaceholders = (): Placeholders => {
  const mark = `mark${randomBytes(12).toString('hex')}x`
  const placeholders: (readonly Part[] | Boundary)[] = []
  const placed = (placeholder: readonly Part[] | Boundary) => `${mark}${placeholders.push(placeholder) - 1}x`
  const html = (parts: readonly Part[]) => placed(parts)
  return {
    html,
    text: (text) => html(textParts(text)),
    shownIf: (condition, nodes) =>
      condition
        ? [node('mj-raw', {}, placed({ begin: condition })), ...nodes, node('mj-raw', {}, placed({ begin: null }))]
        : nodes,
    partsOf: (whole) => {
      const pieces = whole.split(new RegExp(`${mark}(\\d+)x`))
      const found = pieces.flatMap((piece, i): (Part | Boundary)[] => {
        const placeholder = i % 2 === 0 ? [piece] : placeholders[Number(piece)]!
        return 'begin' in placeholder ? [placeholder] : [...placeholder]
      })
      return nested(found)
    },
  }
}

/** Returns an author's text as parts with escaped literals. */
const textParts = (text: string): Part[] =>
  tagParts(text).map((part) => (typeof part === 'string' ? escapeHtml(part) : part))
