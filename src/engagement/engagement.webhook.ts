import {
  type DeliveryDetail,
  deleteTarget,
  insertEvents,
  notifyTargetChanged,
  publicUrl,
  reviveTarget,
  showDelivery,
} from '../deliveries/deliveries.ts'
import { sampleEvent } from '../events/samples.ts'
import { newId } from '../lib/ids.ts'
import { conflict, notFound } from '../lib/problem.ts'
import { newSigningSecret } from '../lib/signature.ts'
import type { App, Work } from '../store/work.ts'
import { findProject } from '../studio/studio.ts'

/*
 * A project's own webhook: a delivery target that receives the interactions with the project's emails
 * (docs/reference/events.md#project-webhooks). A project has at most one.
 */

interface ProjectWebhook {
  id: string
  projectId: string
  url: string
  status: 'active' | 'disabled'
}

/** Returns the webhook of a project (id or name). Throws Problem `not_found` if it has none. */
export const showProjectWebhook = async (work: Work, ref: string, lock = ''): Promise<ProjectWebhook> => {
  const { id: projectId, name } = await findProject(work, ref)
  const [row] = await work.sql<ProjectWebhook>(
    `select id, owner_id as "projectId", url, status from delivery_targets
     where account_id = $1 and kind = 'project' and owner_id = $2 and status <> 'deleted' ${lock}`,
    [work.accountId, projectId],
  )
  if (!row)
    throw notFound(`The project ${name} has no webhook`, { hint: `svc projects webhook set ${projectId} --url …` })
  return row
}

const insertTarget = async ({ sql, accountId, now }: Work, projectId: string): Promise<string> => {
  const id = newId('whk', now.getTime())
  await sql(
    `insert into delivery_targets (id, account_id, kind, owner_id, url, status, created_at)
     values ($1, $2, 'project', $3, '', 'active', $4)`,
    [id, accountId, projectId, now],
  )
  return id
}

/**
 * Sets the webhook of a project (id or name) and returns it with a new secret, which can't be read again later. Throws Problem
 * `not_found`, and `invalid` for a URL that is not public. Opens its own transaction, after the DNS lookup of the URL's host.
 */
export const setProjectWebhook = async (
  app: App,
  accountId: string,
  actor: string,
  ref: string,
  givenUrl: string,
): Promise<ProjectWebhook & { secret: string }> => {
  const url = await publicUrl(app, givenUrl)
  return app.work(accountId, actor, async (work) => {
    const { id: projectId } = await findProject(work, ref)
    // Serialises concurrent calls, so that a project never gets two webhooks.
    await work.sql('select from projects where account_id = $1 and id = $2 for no key update', [accountId, projectId])
    const known = await showProjectWebhook(work, projectId, 'for no key update').catch(() => null)
    const id = known?.id ?? (await insertTarget(work, projectId))
    const secret = newSigningSecret()
    await work.sql('update delivery_targets set url = $3, sealed_secret = $4 where account_id = $1 and id = $2', [
      accountId,
      id,
      url,
      app.box.seal(secret, id),
    ])
    if (known?.status === 'disabled') await reviveTarget(work, id)
    if (known) await notifyTargetChanged(work, id)
    return { id, secret, projectId, url, status: 'active' }
  })
}

/** Removes the webhook of a project (id or name). Returns its id and the number of cancelled deliveries. Throws Problem `not_found`. */
export const unsetProjectWebhook = async (work: Work, ref: string): Promise<{ id: string; cancelled: number }> => {
  const { id } = await showProjectWebhook(work, ref, 'for no key update')
  return { id, cancelled: await deleteTarget(work, id) }
}

/**
 * Queues a sample event with `data.test` true for the webhook of a project (id or name). Throws Problem `not_found`, and `conflict`
 * if the webhook is disabled.
 */
export const testProjectWebhook = async (work: Work, ref: string): Promise<DeliveryDetail> => {
  const { id, projectId, status } = await showProjectWebhook(work, ref)
  if (status !== 'active')
    throw conflict(`The webhook of ${projectId} is disabled`, { hint: `svc projects webhook set ${projectId} --url …` })
  const event = sampleEvent('interaction.received', { now: work.now.getTime(), test: true })
  const [delivery] = await insertEvents(work, [event], [{ id, events: [event.type] }])
  return showDelivery(work, delivery!)
}
