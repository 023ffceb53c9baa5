import type { z } from 'zod'
import { takeEmbedUnits } from '../accounts/accounts.ts'
import { coalesceCalls } from '../lib/coalesce.ts'
import { isSharedFailure } from '../store/database.ts'
import type { App } from '../store/work.ts'
import { registerAttendees } from './webinars.seats.ts'
import type { RegistrationBody, RegistrationResult } from './webinars.shapes.ts'

type Person = z.output<typeof RegistrationBody>

interface Target {
  app: App
  accountId: string
  actor: string
  webinarId: string
}

const mostAtOnce = 50

const registerAll = coalesceCalls(
  mostAtOnce,
  ({ app, accountId, actor, webinarId }: Target, people: readonly Person[]): Promise<RegistrationResult[]> =>
    app.work(accountId, actor, async (work) => {
      const registered = await registerAttendees(app, work, webinarId, people)
      await takeEmbedUnits(work, people.length)
      return registered
    }),
  { isShared: isSharedFailure },
)

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
): Promise<RegistrationResult> =>
  registerAll({ app, accountId, actor, webinarId }, app.database, `${accountId} ${webinarId}`, person)
