import { z } from 'zod'
import { type Deal, DealShape } from '../events/shapes.ts'
import { emailAddress } from '../lib/address.ts'
import { parseAmount, toNumber } from '../lib/money.ts'
import { idText, notBlank, text } from '../lib/text.ts'
import type { RowOf } from '../store/column-types.ts'
import { columns } from '../store/tables.ts'
import { deals } from './deals.columns.ts'

export const stageKinds = ['open', 'won', 'lost'] as const
export const StageKind = z.enum(stageKinds)
export type StageKind = z.output<typeof StageKind>

/** The name of a pipeline or of a stage. */
export const Name = text(200).trim().min(1, 'must not be empty')

/** Pipeline (docs/reference/api.md#pipeline). */
export const PipelineShape = z
  .object({
    id: z.string().describe('Id of the pipeline'),
    name: z.string().describe('Name of the pipeline'),
    isDefault: z.boolean().describe('Whether deals that name no pipeline go here'),
    stages: z
      .array(
        z.object({
          id: z.string().describe('Id of the stage'),
          name: z.string().describe('Name of the stage'),
          kind: StageKind.describe('The status that its deals have'),
        }),
      )
      .describe('Its stages, in the order of the board'),
  })
  .meta({ id: 'Pipeline', description: 'A pipeline with its stages' })
export type PipelineView = z.output<typeof PipelineShape>
export type StageView = PipelineView['stages'][number]

export const NewPipeline = z.object({
  name: Name,
  stages: z
    .array(z.object({ name: Name, kind: StageKind }))
    .max(100)
    .refine((stages) => stages.some((stage) => stage.kind === 'open'), 'must have at least one open stage')
    .refine((stages) => new Set(stages.map((stage) => stage.name)).size === stages.length, 'must have different names')
    .optional(),
})

const Title = text(200)
  .trim()
  .min(1, 'must not be empty')
  .meta({ pattern: notBlank, description: 'The title, 1 to 200 characters' })

const amountFault = 'must be a decimal amount from 0 to 9,999,999,999.99'
const amounts = [
  z.number().meta({ minimum: 0, maximum: 9_999_999_999.99 }),
  z.string().meta({ pattern: '^0*[0-9]{1,10}(\\.[0-9]+)?$', description: 'A decimal, rounded to cents' }),
] as const
/** Parsed to text with two decimals: money is never a binary fraction inside (docs/reference/rules.md#money-and-time). */
const Amount = z
  .union(amounts, { error: amountFault })
  .transform((value, context) => {
    const amount = parseAmount(value)
    if (amount !== null) return amount
    context.addIssue({ code: 'custom', message: amountFault, input: value })
    return z.NEVER
  })
  .describe('The amount in units of the currency, 0 to 9,999,999,999.99, rounded to cents')

const Currency = z
  .string()
  .regex(/^[A-Za-z]{3}$/, 'must be three letters')
  .toUpperCase()
  .describe('Three letters, such as `EUR`')

const Id = idText()

const changeable = {
  title: Title,
  value: Amount,
  currency: Currency,
  stageId: Id.describe('A stage of its own pipeline'),
}

/** The body of POST /deals (docs/reference/api.md#post-deals). */
export const NewDeal = z
  .object({
    title: Title,
    email: emailAddress()
      .optional()
      .describe('The address of its contact. Default: `listId` and `rowId` name the contact'),
    listId: Id.optional().describe('The list of its contact. Default: the most recently updated list that has `email`'),
    rowId: Id.optional().describe('The address of its contact in `listId`. Default: `email` names the contact'),
    value: Amount.optional().meta({ default: 0 }),
    currency: Currency.optional().meta({ default: 'USD' }),
    pipelineId: Id.optional().describe('Its pipeline. Default: that of `stageId`, else the default pipeline'),
    stageId: Id.optional().describe('Its stage. Default: the first open stage of the pipeline'),
  } satisfies Record<keyof typeof changeable, z.ZodType> & Record<string, z.ZodType>)
  .refine(({ email, listId, rowId }) => email !== undefined || (listId !== undefined && rowId !== undefined), {
    message: 'must name the contact by email, or by listId and rowId',
  })
  .meta({
    anyOf: [{ required: ['email'] }, { required: ['listId', 'rowId'] }],
    examples: [{ title: 'Annual plan, 25 seats', email: 'ada.okafor@northwind.example', value: 12500.5 }],
  })
export type NewDeal = z.output<typeof NewDeal>

/** The body of PATCH /deals/{id}: at least one property. */
export const DealChange = z
  .object(changeable)
  .partial()
  .refine((change) => Object.values(change).some((value) => value !== undefined), {
    message: `must have at least one of ${Object.keys(changeable).join(', ')}`,
  })
  .meta({
    minProperties: 1,
    anyOf: Object.keys(changeable).map((name) => ({ required: [name] })),
    examples: [{ value: '13000.00' }],
  })
export type DealChange = z.output<typeof DealChange>

export type { Deal }

/** The columns that callers change. */
export const changeableColumns = columns(deals, Object.keys(changeable) as (keyof typeof changeable)[])

/** What the API shows of a deal. All but the name of its stage is in its table. */
const properties = Object.keys(DealShape.shape) as (keyof Deal)[]
const shownColumns = columns(
  deals,
  properties.filter((name) => name !== 'stage'),
  'd',
)

/** Columns of a `DealRow`, from `deals d`. A subquery reads the stage's name, so it belongs to the same snapshot as the deal. */
export const dealColumns = `${shownColumns.list}, (select name from stages where id = d.stage_id) as stage`
export const dealTypes = { ...shownColumns.types, stage: 'text?' } as const

/** A deal as a statement selects it, with its amount as text. */
export type DealRow = RowOf<typeof dealTypes>

/** Returns the deal as the API shows it, in the order of the API (docs/reference/api.md#deal). */
export const viewDeal = (row: DealRow): Deal => {
  const deal = { ...row, value: toNumber(row.value) }
  return Object.fromEntries(properties.map((name) => [name, deal[name]])) as Deal
}
