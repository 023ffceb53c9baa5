import type { z } from 'zod'
import { takeEmbedUnits } from '../accounts/accounts.ts'
import type { App } from '../store/work.ts'
import { registerAttendees } from './webinars.seats.ts'
import type { RegistrationBody, RegistrationResult } from './webinars.shapes.ts'

type Person = z.output<typeof RegistrationBody>

interface Waiting {
  actor: string
  person: Person
  done(result: RegistrationResult): void
  failed(error: unknown): void
}

const batchSize = 50

/** Who waits for a webinar, by its account and id, in each process. */
const registering = new WeakMap<App['database'], Map<string, Waiting[]>>()

const registerBatch = async (
  app: App,
  accountId: string,
  webinarId: string,
  batch: readonly Waiting[],
): Promise<void> => {
  try {
    const results = await app.work(accountId, batch[0]!.actor, async (work) => {
      const people = batch.map(({ person }) => person)
      const registered = await registerAttendees(app, work, webinarId, people)
      await takeEmbedUnits(work, batch.length)
      return registered
    })
    batch.forEach(({ done }, i) => void done(results[i]!))
  } catch (error) {
    // Each alone: of those who ask for the last unit of the quota some pass, and a fault with one is not the others'.
    if (batch.length > 1) for (const one of batch) await registerBatch(app, accountId, webinarId, [one])
    else batch[0]!.failed(error)
  }
}

/**
 * Registers one person by a call of the Embed API, which it counts. Those of a webinar that come while one is being
 * registered are registered together after it: they would wait for each other's commit anyway, at the webinar's lock.
 * Throws as `registerAttendees`, and Problem `limited` where the quota has no unit left.
 */
export const registerTogether = (
  app: App,
  accountId: string,
  actor: string,
  webinarId: string,
  person: Person,
): Promise<RegistrationResult> => {
  const webinars = registering.getOrInsertComputed(app.database, () => new Map())
  const { promise, resolve: done, reject: failed } = Promise.withResolvers<RegistrationResult>()
  const waiting = { actor, person, done, failed }
  const key = `${accountId} ${webinarId}`
  const queue = webinars.get(key)
  if (queue) {
    queue.push(waiting)
    return promise
  }
  const opened = [waiting]
  webinars.set(key, opened)
  const run = async () => {
    while (opened.length > 0) await registerBatch(app, accountId, webinarId, opened.splice(0, batchSize))
    webinars.delete(key)
  }
  run()
  return promise
}
