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

const maxBatch = 50

const registerAll = coalesceCalls(
  maxBatch,
  ({ app, accountId, actor, webinarId }: Target, people: readonly Person[]): Promise<RegistrationResult[]> =>
    app.work(accountId, actor, async (work) => {
      const registered = await registerAttendees(app, work, webinarId, people)
      await takeEmbedUnits(work, people.length)
      return registered
    }),
  { isShared: isSharedFailure },
)

/**
 * Registers one person for a call of the Embed API and counts the call. Concurrent calls for a webinar share a unit of work: they
 * would wait for each other's commit anyway, at the webinar's lock. Throws like `registerAttendees`, and Problem `limited` if the
 * quota is used up.
 */
export const registerAttendee = (
  app: App,
  accountId: string,
  actor: string,
  webinarId: string,
  person: Person,
): Promise<RegistrationResult> =>
  registerAll({ app, accountId, actor, webinarId }, app.database, `${accountId} ${webinarId}`, person)
