import { type RowOf, typed } from '../../store/column-types.ts'
import { preparedStatement, statement } from '../../store/statement.ts'
import { types } from '../../store/tables.ts'
import type { AccountSql, Work } from '../../store/work.ts'
import { deliveryTargets } from '../deliveries.columns.ts'

/** Returns the SQL join of the target `t` of each row of `owner`, which has the target's account and id. */
export const joinTarget = (owner: string) =>
  `join delivery_targets t on t.account_id = ${owner}.account_id and t.id = ${owner}.id`

/** Returns the SQL expression of the number of pending deliveries to the target with the account and id of `owner`. */
export const pendingOf = (owner: string) =>
  `(select count(*) from pending_deliveries d where d.account_id = ${owner}.account_id and d.target_id = ${owner}.id)`

const countPendingOf = statement(
  'count-pending-deliveries',
  { row: { count: 'int8' }, parameters: { accountId: 'text', id: 'text' } },
  'select count(*) from pending_deliveries where account_id = :accountId and target_id = :id',
)

/** Returns the number of pending deliveries of a target. */
export const countPending = async ({ sql, accountId }: Work, id: string): Promise<number> => {
  const [row] = await sql(countPendingOf, { accountId, id })
  return row!.count
}

const readEndOfOverlap = statement(
  'read-end-of-overlap',
  { row: { until: 'timestamptz' }, parameters: { accountId: 'text', id: 'text', now: 'timestamptz' } },
  `select former_secret_until as until from delivery_targets
   where account_id = :accountId and id = :id and former_secret_until > :now`,
)

/** Returns until when the former secret of a target signs too, or null if only the current one signs. */
export const endOfOverlap = async ({ sql, accountId, now }: Work, id: string): Promise<Date | null> => {
  const [row] = await sql(readEndOfOverlap, { accountId, id, now })
  return row?.until ?? null
}

/** The status of a target that is not deleted. */
const status = typed<'active' | 'disabled'>('text')

const state = {
  ...types(deliveryTargets, 'disabledReason'),
  status,
  /** Whether a delivery has been due since the given time, and no worker has claimed it. */
  overdue: 'bool',
} as const
export type TargetState = RowOf<typeof state>

const readState = statement(
  'read-target-state',
  {
    row: state,
    parameters: { accountId: 'text', id: 'text', overdueSince: 'timestamptz' },
  },
  `select status, disabled_reason as "disabledReason", exists (
     select from pending_deliveries where account_id = :accountId and target_id = :id and due_at < :overdueSince and worker is null
   ) as overdue
   from delivery_targets where account_id = :accountId and id = :id and status <> 'deleted'`,
)

/** Returns the state of a target, or null if it does not exist or is deleted. */
export const readTargetState = async (
  { sql, accountId }: AccountSql,
  id: string,
  overdueSince: Date,
): Promise<TargetState | null> => {
  const [row] = await sql(readState, { accountId, id, overdueSince })
  return row ?? null
}

const projectTarget = { id: 'text', projectId: 'text', url: 'text', status } as const
/** A project's own webhook. */
export type ProjectTarget = RowOf<typeof projectTarget>

const selectProjectTarget = (name: string, lock = '') =>
  statement(
    name,
    { row: projectTarget, parameters: { accountId: 'text', projectId: 'text' } },
    `select id, owner_id as "projectId", url, status from delivery_targets
     where account_id = :accountId and kind = 'project' and owner_id = :projectId and status <> 'deleted' ${lock}`,
  )

const readProjectTarget = selectProjectTarget('read-project-target')
const lockProjectTarget = selectProjectTarget('lock-project-target', 'for no key update')

/** Returns the target of a project, or null if it has none. `lock` keeps other transactions from changing it. */
export const findProjectTarget = async (
  { sql, accountId }: Work,
  projectId: string,
  { lock }: { lock: boolean },
): Promise<ProjectTarget | null> => {
  const [row] = await sql(lock ? lockProjectTarget : readProjectTarget, { accountId, projectId })
  return row ?? null
}

const activeOfProjects = (account: string) =>
  `from delivery_targets where account_id = ${account} and kind = 'project' and status = 'active'`

/** The SQL condition that a project of the account `:accountId` has an active target. */
export const hasProjectTargets = `exists (select ${activeOfProjects(':accountId')})`

const readProjectTargets = preparedStatement(
  'project-targets',
  { row: { id: 'text', projectId: 'text' }, parameters: { accountId: 'text' } },
  `select id, owner_id as "projectId" ${activeOfProjects(':accountId')}`,
)

/** Returns the active targets of the account's projects. */
export const listProjectTargets = ({ sql, accountId }: Work): Promise<Pick<ProjectTarget, 'id' | 'projectId'>[]> =>
  sql(readProjectTargets, { accountId })
