// biome-ignore-all lint/suspicious/noThenProperty: the contract's name for one side of a step

import { z } from 'zod'
import { eventTypes } from '../../events/events.ts'
import { dataShapes } from '../../events/shapes.ts'
import { emailAddress } from '../../lib/address.ts'
import { eventName } from '../../lib/event-name.ts'
import { parseAmount } from '../../lib/money.ts'
import { durationOf, isIsoTime } from '../../lib/since.ts'
import { text } from '../../lib/text.ts'
import { webhookUrlMaxLength } from '../../net/webhook-url.ts'

/*
 * The schema of a journey file (docs/reference/journeys.md#triggers). Strict: unknown properties are refused. A parsed file still
 * refers to lists, stages, pipelines, projects and so on by name or id; journeys/files/resolve.ts replaces the names with ids.
 * Blocks keep their names.
 */

const maxDurationMs = 3650 * 86_400_000
const isDuration = (value: string) => {
  const ms = durationOf(value)
  return ms !== null && ms > 0 && ms <= maxDurationMs
}
const Duration = z
  .string()
  .refine(isDuration, 'must be a duration such as 2d or 1h30m (units s m h d w, at most 3650d)')

const IsoTime = z.string().refine(isIsoTime, 'must be an ISO time such as 2026-12-01T09:00:00Z')

const Ref = text(200).min(1)
const Scalar = z.union([text(10_000), z.number(), z.boolean(), z.null()])
/** Every name but `__proto__`, which contacts refuse as well. */
const FieldName = text(100)
  .trim()
  .min(1)
  .refine((name) => name !== '__proto__', 'must be the name of a column')
const ColumnName = FieldName.refine((name) => name.toLowerCase() !== 'email', 'must be the name of a column')
type Json = string | number | boolean | null | Json[] | { [name: string]: Json }
const Json: z.ZodType<Json> = z.lazy(() => z.union([Scalar, z.array(Json), z.record(text(200), Json)]))

const exactlyOneOf =
  <const Names extends readonly string[]>(...names: Names) =>
  (value: Partial<Record<Names[number], unknown>>) =>
    names.filter((name) => value[name as Names[number]] !== undefined).length === 1

const Trigger = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('api') }),
  z.strictObject({ kind: z.literal('manual') }),
  z.strictObject({ kind: z.literal('list-added'), list: Ref }),
  z.strictObject({ kind: z.literal('form-submitted'), form: Ref.optional() }),
  z.strictObject({
    kind: z.literal('deal-stage-changed'),
    pipeline: Ref.optional(),
    stage: Ref.optional(),
    from: Ref.optional(),
  }),
  z.strictObject({
    kind: z.literal('interaction'),
    project: Ref.optional(),
    block: Ref.optional(),
    interaction: dataShapes['interaction.received'].shape.interaction.shape.kind.optional(),
  }),
  z.strictObject({ kind: z.literal('lead-hot') }),
  z.strictObject({ kind: z.literal('purchase-completed') }),
  z.strictObject({ kind: z.literal('course-enrolled'), course: Ref.optional() }),
  z.strictObject({ kind: z.literal('webinar-registered'), webinar: Ref.optional() }),
  z.strictObject({ kind: z.literal('webinar-attended'), webinar: Ref.optional() }),
  z.strictObject({ kind: z.literal('webinar-missed'), webinar: Ref.optional() }),
  z.strictObject({ kind: z.literal('event'), name: eventName() }),
])
export type Trigger = z.output<typeof Trigger>
export type TriggerKind = Trigger['kind']

const id = z
  .string()
  .regex(/^[\w-]{1,64}$/, 'must be 1 to 64 letters, digits, - or _')
  .optional()

export const isHttpUrl = (text: string): boolean => /^https?:\/\//i.test(text) && URL.canParse(text)

const amountRule = 'must be a decimal amount from 0 to 9,999,999,999.99'

const Leaf = [
  z.strictObject({
    id,
    kind: z.literal('send-email'),
    project: Ref,
    type: z.enum(['marketing', 'transactional']).default('marketing'),
    subject: text(500).min(1).optional(),
    /** The id or the address of the sender. The default is the account's default sender. */
    sender: Ref.optional(),
    replyTo: emailAddress().optional(),
  }),
  z
    .strictObject({ id, kind: z.literal('delay'), for: Duration.optional(), until: IsoTime.optional() })
    .refine(exactlyOneOf('for', 'until'), 'must have exactly one of for, until'),
  z.strictObject({ id, kind: z.literal('update-field'), field: ColumnName, value: Scalar }),
  z.strictObject({ id, kind: z.literal('add-to-list'), list: Ref }),
  z.strictObject({ id, kind: z.literal('remove-from-list'), list: Ref }),
  z.strictObject({
    id,
    kind: z.literal('create-deal'),
    title: text(200).trim().min(1),
    value: z
      .union([z.number(), text(40)])
      .refine((value) => parseAmount(value) !== null, amountRule)
      .optional(),
    currency: z
      .string()
      .regex(/^[A-Za-z]{3}$/, 'must be three letters')
      .toUpperCase()
      .optional(),
    pipeline: Ref.optional(),
    stage: Ref.optional(),
  }),
  z.strictObject({ id, kind: z.literal('move-deal'), stage: Ref }),
  z.strictObject({
    id,
    kind: z.literal('webhook'),
    url: text(webhookUrlMaxLength).refine(isHttpUrl, 'must be an http or https URL'),
    body: Json.optional(),
  }),
  z.strictObject({ id, kind: z.literal('exit') }),
] as const

const Comparison = z
  .strictObject({
    field: FieldName,
    equals: Scalar.optional(),
    contains: text(10_000).min(1).optional(),
    exists: z.boolean().optional(),
    greater: z.number().optional(),
    less: z.number().optional(),
  })
  .refine(
    exactlyOneOf('equals', 'contains', 'exists', 'greater', 'less'),
    'must have exactly one of equals, contains, exists, greater, less',
  )

const Percent = z.number().min(0).max(100)
/** A filter of the event's data, or values by path. */
const Where = z.union([z.string(), z.record(text(200).min(1), Scalar)])
const EventName = z.enum(eventTypes)

type LeafStep = z.output<(typeof Leaf)[number]>
interface WaitForStep {
  id?: string | undefined
  kind: 'wait-for'
  event: z.output<typeof EventName>
  where?: z.output<typeof Where> | undefined
  timeout: string
  then: Step[]
  else: Step[]
}
interface BranchStep {
  id?: string | undefined
  kind: 'branch'
  if?: z.output<typeof Comparison> | undefined
  /** A filter of contacts, instead of `if`. */
  where?: string | undefined
  then: Step[]
  else?: Step[] | undefined
}
interface SplitStep {
  id?: string | undefined
  kind: 'split'
  /** The percentage of contacts that take side `a`. */
  percent: number
  a: Step[]
  b: Step[]
}
export type Step = LeafStep | WaitForStep | BranchStep | SplitStep

const Steps: z.ZodType<Step[]> = z.lazy(() => z.array(Step))
const WaitFor = z.strictObject({
  id,
  kind: z.literal('wait-for'),
  event: EventName,
  where: Where.optional(),
  timeout: Duration,
  then: Steps,
  else: Steps,
})
const Branch = z
  .strictObject({
    id,
    kind: z.literal('branch'),
    if: Comparison.optional(),
    where: z.string().optional(),
    then: Steps,
    else: Steps.optional(),
  })
  .refine(exactlyOneOf('if', 'where'), 'must have exactly one of if, where')
const Split = z.strictObject({ id, kind: z.literal('split'), percent: Percent, a: Steps, b: Steps })
const Step = z.discriminatedUnion('kind', [...Leaf, WaitFor, Branch, Split])

/** The rules that can end a run early. */
export const exitRules = ['unsubscribed', 'suppressed', 'list-removed', 'deal-won', 'deal-lost', ...eventTypes] as const
const ExitRule = z.enum(exitRules)

/** A file as its author writes it: the definition, and the journey's id, name and state. */
export const JourneyFile = z.strictObject({
  id: Ref.optional(),
  name: text(200).trim().min(1),
  enabled: z.boolean().default(true),
  trigger: Trigger,
  reentry: z.enum(['never', 'after-exit', 'always']).default('never'),
  exitOn: z.array(ExitRule).default([]),
  steps: z.array(Step).min(1),
})
export type JourneyFile = z.output<typeof JourneyFile>

/** The stored definition of a version. References are ids. */
export type Definition = Pick<JourneyFile, 'trigger' | 'reentry' | 'exitOn' | 'steps'>

/** Returns the id or name by which an event finds the journeys of a trigger, or null if every event of the kind does. */
export const triggerKey = (trigger: Trigger): string | null => {
  if (trigger.kind === 'list-added') return trigger.list
  if (trigger.kind === 'form-submitted') return trigger.form ?? null
  if (trigger.kind === 'deal-stage-changed') return trigger.stage ?? null
  if (trigger.kind === 'interaction') return trigger.project ?? null
  if (trigger.kind === 'course-enrolled') return trigger.course ?? null
  if (trigger.kind === 'event') return trigger.name
  if ('webinar' in trigger) return trigger.webinar ?? null
  return null
}

export const triggerKinds = Trigger.options.map(({ shape }) => shape.kind.value)

/** The statuses of a run; `running` and `waiting` are open. */
export const runStatuses = ['running', 'waiting', 'completed', 'exited', 'failed', 'cancelled'] as const
export type RunStatus = (typeof runStatuses)[number]
