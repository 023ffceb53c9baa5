import { usableLang } from '../lib/common-shapes.ts'
import { tagParts } from '../lib/tags.ts'
import type { Block, Content, LeafBlock } from './studio.blocks.ts'
import { conditionOf } from './studio.conditions.ts'
import { markupText } from './studio.markup.ts'
import { richText } from './studio.rich.ts'
import { sanitized } from './studio.sanitize.ts'
import { mergeLiterals, type Part } from './studio.template.ts'
import { urlParts } from './studio.urls.ts'
import { bookingLine, priceLines, words } from './studio.words.ts'

const link = (url: string): Part => ({ url: urlParts(url), kind: 'link' })

const linked = (label: string, target: Part): Part[] => [...tagParts(label), ':\n', target]

const answers = (id: string, options: readonly string[]): Part[] =>
  options.flatMap((option) => ['\n- ', ...tagParts(option), ': ', { answer: id, value: tagParts(option) }])

const invitation = (id: string, title: string, lines: readonly string[], label: string): Part[] => [
  ...tagParts([title, ...lines].join('\n')),
  `\n${label}: `,
  { link: 'view', at: id },
]

const leafParts = (block: LeafBlock, lang: string | undefined): Part[] => {
  const { id, type, props } = block
  switch (type) {
    case 'text':
      return richText(props.text)
    case 'html':
      return markupText(sanitized(props.html))
    case 'heading':
      return tagParts(props.text.replace(/\r\n?/g, '\n'))
    case 'image':
      if (props.href) return linked(props.alt || 'Image', link(props.href))
      return props.alt ? ['[', ...tagParts(props.alt), ']'] : []
    case 'button':
      return linked(props.label, link(props.url))
    case 'divider':
      return ['-'.repeat(40)]
    case 'spacer':
      return []
    case 'vote':
    case 'quiz':
      return [...tagParts(props.question), ...answers(id, props.options)]
    case 'rating': {
      const values = Array.from({ length: props.max }, (_, i) => String(i + 1))
      return [...tagParts(props.question), ...answers(id, values)]
    }
    case 'form':
      return invitation(id, props.title, [props.fields.map(({ label }) => label).join(' · ')], words.form)
    case 'booking':
      return invitation(id, props.title, [bookingLine(props, lang)], words.booking)
    case 'checkout': {
      const { items, total } = priceLines(props, lang)
      const lines = [...items, ['Total', total]].map(([name, price]) => `${name}: ${price}`)
      return invitation(id, props.title, lines, words.checkout)
    }
  }
}

const shownParts = (block: Block, lang: string | undefined): Part[] => {
  if (block.type === 'section' || block.type === 'columns')
    return block.children.flatMap((child) => blockParts(child, lang))
  const parts = leafParts(block, lang)
  return parts.length > 0 ? [...parts, '\n\n'] : []
}

const blockParts = (block: Block, lang: string | undefined): Part[] => {
  const condition = conditionOf(block)
  const parts = shownParts(block, lang)
  return condition ? [{ when: condition, parts: mergeLiterals(parts) }] : parts
}

/** Returns the plain-text part of a project as parts. */
export const renderText = ({ blocks, lang }: Content): Part[] =>
  mergeLiterals([
    ...blocks.flatMap((block) => blockParts(block, usableLang(lang))),
    `-- \n${words.view}: `,
    { link: 'view' },
    { given: 'unsubscribe', parts: [`\n${words.unsubscribe}: `, { link: 'unsubscribe' }] },
    { given: 'unsubscribe', parts: [{ given: 'postalAddress', parts: ['\n\n', { addressBetween: '\n' }] }] },
  ])
