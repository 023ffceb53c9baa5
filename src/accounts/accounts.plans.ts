import { z } from 'zod'
import { parse } from '../lib/parse.ts'
import { noSuch } from '../lib/problem.ts'
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

const view = (plan: Plan): PlanView => ({
  name: plan.name,
  contacts: plan.contacts ?? null,
  sends: plan.sends ?? null,
  sendApiCalls: plan.sendApiCalls ?? null,
  embedApi: plan.embedApi ?? null,
  broadcastMinutes: plan.broadcastMinutes ?? null,
  webinarCourses: plan.webinarCourses,
})

const entitiesOf = (operation: Operation) => operation.em(import('./accounts.entities.ts'))

const findPlan = async (operation: Operation, name: string): Promise<Plan> => {
  const [em, { Plan }] = await entitiesOf(operation)
  const plan = await em.findOne(Plan, { name })
  if (!plan) throw noSuch('plan', name, { hint: 'svc plans list' })
  return plan
}

export const listPlans = async (operation: Operation): Promise<PlanView[]> => {
  const [em, { Plan }] = await entitiesOf(operation)
  return (await em.find(Plan, {}, { orderBy: { position: 'asc' } })).map(view)
}

export const showPlan = async (operation: Operation, name: string): Promise<PlanView> =>
  view(await findPlan(operation, name))

export const setPlanLimits = async (
  operation: Operation,
  name: string,
  change: z.input<typeof PlanChange>,
): Promise<PlanView> => {
  const plan = await findPlan(operation, name)
  for (const [limitName, value] of Object.entries(parse(PlanChange, change)))
    if (value !== undefined) Object.assign(plan, { [limitName]: value })
  const [em] = await entitiesOf(operation)
  await em.flush()
  return view(plan)
}
