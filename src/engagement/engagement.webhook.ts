import {
  createTarget,
  type DeliveryDetail,
  deleteTarget,
  findProjectTarget,
  insertEvents,
  type ProjectTarget,
  publicUrl,
  resealTarget,
  reviveTarget,
  showDelivery,
} from '../deliveries/deliveries.ts'
import { sampleEvent } from '../events/samples.ts'
import { newId } from '../lib/ids.ts'
import { conflict, notFound } from '../lib/problem.ts'
import { newSigningSecret } from '../lib/signature.ts'
import type { App, Work } from '../store/work.ts'
import { findProject, lockProject } from '../studio/studio.ts'

/*
 * A project's own webhook: a delivery target that receives the interactions with the project's emails
 * (docs/reference/events.md#project-webhooks). A project has at most one.
 */

/** Returns the webhook of a project (id or name). Throws Problem `not_found` if it has none. */
export const showProjectWebhook = async (
  work: Work,
  ref: string,
  { lock } = { lock: false },
): Promise<ProjectTarget> => {
  const { id: projectId, name } = await findProject(work, ref)
  const target = await findProjectTarget(work, projectId, { lock })
  if (!target)
    throw notFound(`The project ${name} has no webhook`, { hint: `svc projects webhook set ${projectId} --url …` })
  return target
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
): Promise<ProjectTarget & { secret: string }> => {
  const url = await publicUrl(app, givenUrl)
  return app.work(accountId, actor, async (work) => {
    const { id: projectId } = await findProject(work, ref)
    // Serialises concurrent calls, so that a project never gets two webhooks.
    await lockProject(work, projectId)
    const known = await findProjectTarget(work, projectId, { lock: true })
    const id = known?.id ?? newId('whk', work.now.getTime())
    const secret = newSigningSecret()
    const sealedSecret = app.box.seal(secret, id)
    if (known) await resealTarget(work, id, { sealedSecret, url })
    else await createTarget(work, { id, kind: 'project', ownerId: projectId, url, sealedSecret })
    if (known?.status === 'disabled') await reviveTarget(work, id)
    return { id, secret, projectId, url, status: 'active' }
  })
}

/** Removes the webhook of a project (id or name). Returns its id and the number of cancelled deliveries. Throws Problem `not_found`. */
export const unsetProjectWebhook = async (work: Work, ref: string): Promise<{ id: string; cancelled: number }> => {
  const { id } = await showProjectWebhook(work, ref, { lock: true })
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
  const [delivery] = await insertEvents(work, [event], [id])
  return showDelivery(work, delivery!)
}
