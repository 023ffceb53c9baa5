import { z } from 'zod'
import { given } from '../lib/given.ts'
import { parse } from '../lib/parse.ts'
import { noSuch } from '../lib/problem.ts'
import type { RowOf } from '../store/column-types.ts'
import { statement } from '../store/statement.ts'
import { columns } from '../store/tables.ts'
import type { Operation } from '../store/work.ts'
import { plans } from './accounts.columns.ts'

const limit = z.int().min(0).max(2_147_483_647).nullable().optional()

/** New limits of a plan: null removes a limit, and one that is absent stays. */
const PlanChange = z.object({
  contacts: limit,
  sends: limit,
  sendApiCalls: limit,
  embedApi: limit,
  broadcastMinutes: limit,
  webinarCourses: z.boolean().optional(),
})

const shown = columns(plans, [
  'name',
  'contacts',
  'sends',
  'sendApiCalls',
  'embedApi',
  'broadcastMinutes',
  'webinarCourses',
])
export type PlanView = RowOf<typeof shown.types>

const planNotFound = (name: string) => noSuch('plan', name, { hint: 'svc plans list' })

const readPlans = statement('list-plans', { row: shown.types }, `select ${shown.list} from plans order by position`)

/** Returns all plans, ordered by their positions. */
export const listPlans = ({ sql }: Operation): Promise<PlanView[]> => sql(readPlans)

const readPlan = statement(
  'read-plan',
  { row: shown.types, parameters: { name: 'text' } },
  `select ${shown.list} from plans where name = :name`,
)

/** Throws Problem `not_found`. */
export const showPlan = async ({ sql }: Operation, name: string): Promise<PlanView> => {
  const [plan] = await sql(readPlan, { name })
  if (!plan) throw planNotFound(name)
  return plan
}

export const setPlanLimits = async (
  operation: Operation,
  name: string,
  change: z.input<typeof PlanChange>,
): Promise<PlanView> => {
  const [em, { Plan }] = await operation.em(import('./accounts.entities.ts'))
  const plan = await em.findOne(Plan, { name })
  if (!plan) throw planNotFound(name)
  Object.assign(plan, given(parse(PlanChange, change)))
  await em.flush()
  return showPlan(operation, name)
}
