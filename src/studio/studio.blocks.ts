import { z } from 'zod'
import { Color, Lang } from '../lib/common-shapes.ts'
import { parseAmount } from '../lib/money.ts'
import { text } from '../lib/text.ts'
import { Timezone } from '../lib/timezone.ts'
import { BlockId, ClockTime, Currency, currencyDigits, Font, Line, Options, pixels, Ref } from './studio.shapes.ts'
import { isUrlTemplate } from './studio.urls.ts'

/*
 * The shapes of a project's file (docs/reference/studio.md#blocks). Unknown properties are refused. Rules that a shape can't express,
 * such as unique ids, are in studio.check.ts.
 */

const Link = text(2_000).refine(
  (url) => isUrlTemplate(url, 'link'),
  'must be an http, https or mailto URL, or start with a merge tag',
)
const ImageUrl = text(2_000).refine(
  (url) => isUrlTemplate(url, 'image'),
  'must be an http or https URL, or start with a merge tag',
)
const Align = z.enum(['left', 'center', 'right'])

/** The look of an email and its live view. Missing values default to `themeDefaults`. */
export const Theme = z.strictObject({
  primary: Color.optional(),
  background: Color.optional(),
  text: Color.optional(),
  font: Font.optional(),
  /** The width of the email on a wide screen, in pixels. */
  width: pixels(320, 960).optional(),
  logo: ImageUrl.optional(),
})
export type Theme = z.output<typeof Theme>

/** The maximum length of an `html` block. It is checked before the HTML is parsed. */
export const htmlMaxLength = 50_000

/** When the block is shown; studio.check.ts parses it. */
const showIf = z.string().optional()

const leaf = <const Type extends string, Props extends z.ZodType>(type: Type, props: Props) =>
  z.strictObject({ id: BlockId, type: z.literal(type), props, showIf })

const Question = { question: Line, options: Options }

export const FormField = z
  .strictObject({
    name: text(100)
      .trim()
      .min(1)
      .refine((name) => name !== '__proto__', 'must be another name'),
    label: Line,
    type: z.enum(['text', 'email', 'number', 'select', 'checkbox', 'textarea']),
    required: z.boolean().optional(),
    options: z.array(text(200).trim().min(1)).min(1).max(100).optional(),
  })
  .superRefine(({ type, options }, context) => {
    if (type === 'select' && !options) context.addIssue({ code: 'custom', path: ['options'], message: 'is required' })
    if (type !== 'select' && options)
      context.addIssue({ code: 'custom', path: ['options'], message: 'is only allowed with type select' })
  })
export type FormField = z.output<typeof FormField>

/** The fields of a form; names are unique. */
export const FormFields = z
  .array(FormField)
  .max(40)
  .superRefine((fields, context) => {
    for (const [i, { name }] of fields.entries()) {
      if (fields.findIndex((other) => other.name === name) < i)
        context.addIssue({ code: 'custom', path: [i, 'name'], message: 'is a duplicate' })
    }
  })

const Window = z
  .strictObject({ day: z.int().min(1).max(7), from: ClockTime, to: ClockTime })
  .refine(({ from, to }) => from < to, { path: ['to'], message: 'must be later than from' })

const isBusyUrl = (given: string): boolean => {
  const url = URL.parse(given)
  return (
    url !== null &&
    ['http:', 'https:', 'webcal:'].includes(url.protocol) &&
    url.username + url.password === '' &&
    !given.includes('#') &&
    !given.includes('{{')
  )
}

/** The address of an .ics file with busy times. It may contain a secret: it is shown to the account's owner only. */
const BusyUrl = z
  .string()
  .max(2_048)
  .refine(
    isBusyUrl,
    'must be an absolute http, https or webcal address without user name, password, fragment and merge tags',
  )

const Item = z.strictObject({
  name: Line,
  quantity: z.int().min(1).max(1_000),
  amount: z
    .number()
    .min(0, { abort: true })
    .max(1_000_000, { abort: true })
    .refine((amount) => Number(parseAmount(amount)) === amount, {
      error: 'must have at most two decimals',
      abort: true,
    }),
})
export type CheckoutItem = z.output<typeof Item>

const Checkout = z
  .strictObject({ title: Line, items: z.array(Item).min(1, { abort: true }).max(50), currency: Currency })
  .superRefine(({ items, currency }, context) => {
    const digits = currencyDigits(currency)
    for (const [i, { amount }] of items.entries()) {
      if (Number(amount.toFixed(digits)) !== amount)
        context.addIssue({
          code: 'custom',
          path: ['items', i, 'amount'],
          message: `must have ${digits} decimals in ${currency}`,
        })
    }
    if (items.every(({ amount }) => amount === 0))
      context.addIssue({ code: 'custom', path: ['items'], message: 'must cost something in all' })
  })

const Leaf = [
  leaf('heading', z.strictObject({ text: Line, level: z.int().min(1).max(3).optional(), align: Align.optional() })),
  leaf(
    'text',
    z.strictObject({
      text: text(10_000).min(1),
      // Applies the style of a heading of this level.
      level: z.int().min(1).max(3).optional(),
      align: Align.optional(),
    }),
  ),
  leaf('html', z.strictObject({ html: text(htmlMaxLength).min(1) })),
  leaf(
    'image',
    z.strictObject({ src: ImageUrl, alt: text(500), href: Link.optional(), width: pixels(1, 2_000).optional() }),
  ),
  leaf('button', z.strictObject({ label: Line, url: Link, align: Align.optional() })),
  leaf('divider', z.strictObject({ height: pixels(1, 50).optional() }).default({})),
  leaf('spacer', z.strictObject({ height: pixels(1, 500).optional() }).default({})),
  leaf('vote', z.strictObject(Question)),
  leaf('rating', z.strictObject({ question: Line, max: z.int().min(3).max(10) })),
  leaf(
    'quiz',
    z
      .strictObject({ ...Question, correct: z.int().min(0), explanation: text(2_000).min(1).optional() })
      .refine(({ correct, options }) => correct < options.length, {
        path: ['correct'],
        message: 'must be the index of an option, the first being 0',
      }),
  ),
  leaf('form', z.strictObject({ title: Line, fields: FormFields.min(1), listId: Ref.optional() })),
  leaf(
    'booking',
    z.strictObject({
      title: Line,
      durationMinutes: z.int().min(5).max(1_440),
      timezone: Timezone,
      availability: z.array(Window).min(1).max(100),
      days: z.int().min(1).max(366),
      /** From now until the earliest start that can be booked. */
      minNoticeMinutes: z.int().min(0).max(525_600).optional(),
      /** The time that is kept free before and after each booking. */
      bufferMinutes: z.int().min(0).max(1_440).optional(),
      /** Bookings on a day of `timezone`. */
      maxPerDay: z.int().min(1).max(1_000).optional(),
      busyUrl: BusyUrl.optional(),
    }),
  ),
  leaf('checkout', Checkout),
] as const

const Box = { background: Color.optional(), padding: pixels(0, 100).optional() }
const SectionProps = z.strictObject(Box).default({})
const ColumnsProps = z
  .strictObject({ ...Box, widths: z.array(z.number().positive().max(1_000)).optional() })
  .default({})

export type LeafBlock = z.output<(typeof Leaf)[number]>
export interface SectionBlock {
  id: string
  type: 'section'
  props: z.output<typeof SectionProps>
  showIf?: string | undefined
  children: Block[]
}
/** Each child is a column; a section is a column of several blocks. */
export interface ColumnsBlock {
  id: string
  type: 'columns'
  props: z.output<typeof ColumnsProps>
  showIf?: string | undefined
  children: Block[]
}
export type Block = LeafBlock | SectionBlock | ColumnsBlock

const Blocks: z.ZodType<Block[]> = z.lazy(() => z.array(Block).min(1))
const Section = z.strictObject({
  id: BlockId,
  type: z.literal('section'),
  props: SectionProps,
  showIf,
  children: Blocks,
})
const Columns = z
  .strictObject({
    id: BlockId,
    type: z.literal('columns'),
    props: ColumnsProps,
    showIf,
    children: Blocks.refine((children) => children.length <= 6, 'must have at most 6 items, a column each'),
  })
  .refine(({ props, children }) => !props.widths || props.widths.length === children.length, {
    path: ['props', 'widths'],
    message: 'must have a width for each of the children',
  })
const Block = z.discriminatedUnion('type', [Section, Columns, ...Leaf])

/** A project file as its author writes it. */
export const ProjectFile = z.strictObject({
  id: Ref.optional(),
  name: text(200).trim().min(1),
  preheader: text(500).trim().min(1).optional(),
  /** The language of the text (BCP 47). The default is English. */
  lang: Lang.optional(),
  theme: Theme.default({}),
  blocks: z.array(Block).min(1),
})
export type ProjectFile = z.output<typeof ProjectFile>

/** The content of a version: the file without its id, with the lists of forms by their ids. */
export type Content = Omit<ProjectFile, 'id'>
