import { z } from 'zod'
import { parse } from '../lib/parse.ts'
import { noSuch } from '../lib/problem.ts'
import { typedRow } from '../store/column-types.ts'
import { statement } from '../store/statement.ts'
import type { Operation } from '../store/work.ts'
import type { Plan } from './accounts.entities.ts'

const limit = z.int().min(0).max(2_147_483_647).nullable().optional()

/** New limits of a plan. null: unlimited; absent: unchanged. */
const PlanChange = z.object({
  contacts: limit,
  sends: limit,
  sendApiCalls: limit,
  embedApi: limit,
  broadcastMinutes: limit,
  webinarCourses: z.boolean().optional(),
})

export interface PlanView {
  name: string
  contacts: number | null
  sends: number | null
  sendApiCalls: number | null
  embedApi: number | null
  broadcastMinutes: number | null
  webinarCourses: boolean
}

const columns = `name, contacts, sends, send_api_calls as "sendApiCalls", embed_api as "embedApi",
  broadcast_minutes as "broadcastMinutes", webinar_courses as "webinarCourses"`

const types = {
  name: 'text',
  contacts: 'int4',
  sends: 'int4',
  sendApiCalls: 'int4',
  embedApi: 'int4',
  broadcastMinutes: 'int4',
  webinarCourses: 'bool',
} as const

const planNotFound = (name: string) => noSuch('plan', name, { hint: 'svc plans list' })

const readPlans = statement(
  'list-plans',
  { row: typedRow<PlanView>(types) },
  `select ${columns} from plans order by position`,
)

/** Returns all plans, ordered by their positions. */
export const listPlans = ({ sql }: Operation): Promise<PlanView[]> => sql(readPlans)

const readPlan = statement(
  'read-plan',
  { row: typedRow<PlanView>(types), parameters: { name: 'text' } },
  `select ${columns} from plans where name = :name`,
)

/** Throws Problem `not_found`. */
export const showPlan = async ({ sql }: Operation, name: string): Promise<PlanView> => {
  const [plan] = await sql(readPlan, { name })
  if (!plan) throw planNotFound(name)
  return plan
}

const view = (plan: Plan): PlanView => ({
  name: plan.name,
  contacts: plan.contacts ?? null,
  sends: plan.sends ?? null,
  sendApiCalls: plan.sendApiCalls ?? null,
  embedApi: plan.embedApi ?? null,
  broadcastMinutes: plan.broadcastMinutes ?? null,
  webinarCourses: plan.webinarCourses,
})

export const setPlanLimits = async (
  operation: Operation,
  name: string,
  change: z.input<typeof PlanChange>,
): Promise<PlanView> => {
  const [em, { Plan }] = await operation.em(import('./accounts.entities.ts'))
  const plan = await em.findOne(Plan, { name })
  if (!plan) throw planNotFound(name)
  for (const [limitName, value] of Object.entries(parse(PlanChange, change)))
    if (value !== undefined) Object.assign(plan, { [limitName]: value })
  await em.flush()
  return view(plan)
}
