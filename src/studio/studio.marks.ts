import { randomBytes } from 'node:crypto'
import { type Tag, tagParts } from '../lib/tags.ts'
import type { Part } from './studio.template.ts'
import { isUrlTemplate } from './studio.urls.ts'

/*
 * Before an author's text is parsed as CommonMark or HTML, each merge tag is replaced by a mark, so neither a tag nor its value is
 * taken for markup.
 */

const mark = `mark${randomBytes(12).toString('hex')}x`
const marks = new RegExp(`${mark}(\\d+)x`)
const allMarks = new RegExp(marks.source, 'g')

/** Returns the source with marks, and the tags that they stand for. */
export const withMarks = (text: string): { source: string; tags: readonly Tag[] } => {
  const tags: Tag[] = []
  const source = tagParts(text).map((part) => (typeof part === 'string' ? part : `${mark}${tags.push(part) - 1}x`))
  return { source: source.join(''), tags }
}

export const hasMarks = (text: string): boolean => marks.test(text)

/** Returns a text with marks as parts; `write` escapes its literals. */
export const withoutMarks = (text: string, tags: readonly Tag[], write: (text: string) => string): Part[] =>
  text.split(marks).map((piece, i) => (i % 2 === 1 ? tags[Number(piece)]! : write(piece)))

const written = ({ tag, fallback }: Tag): string =>
  fallback === undefined ? `{{ ${tag} }}` : `{{ ${tag} | "${fallback}" }}`

/** Returns a URL with marks as its author wrote it. */
export const writtenUrl = (url: string, tags: readonly Tag[]): string =>
  url.replace(allMarks, (_, i: string) => written(tags[Number(i)]!))

/** Returns whether a URL with marks may be used, as `isUrlTemplate`. */
export const isMarkedUrl = (url: string, kind: 'link' | 'image'): boolean =>
  isUrlTemplate(url.replace(allMarks, '{{ x }}'), kind)
