import { z } from 'zod'
import type { ContactCondition } from '../../contacts/contacts.rows.ts'
import {
  readContacts,
  readRecipients,
  requireList,
  ticketFirst,
  verifyAddresses,
  writeContacts,
  writeFairly,
} from '../../contacts/contacts.ts'
import { emailAddress } from '../../lib/address.ts'
import { TriggerData } from '../../lib/merge-data.ts'
import { conflict, invalid } from '../../lib/problem.ts'
import { idText } from '../../lib/text.ts'
import { SerializationConflict } from '../../store/database.ts'
import type { App, Work } from '../../store/work.ts'
import type { TriggerKind } from '../definition/definition.schema.ts'
import { lockJourney, type OpenJourney } from '../journeys.find.ts'
import { enterJourney } from './enter.ts'

/** Returns the context of a run that a trigger with data starts, as a property of its entrant. */
export const contextOfData = (data: TriggerData | undefined) =>
  data && Object.keys(data).length > 0 ? { context: { data } } : undefined

/** The body of POST /journeys/{id}/trigger. */
export const EntryRequest = z
  .object({
    email: emailAddress().describe('The address that enters the journey'),
    listId: idText().describe('The list of the contact; an address that is not in it is added first'),
    data: TriggerData.optional().describe(
      'Merge data of the run: at most 100 fields and 64 KB; nested values are dropped. Default: none',
    ),
  })
  .meta({ examples: [{ email: 'ada.okafor@northwind.example', listId: 'lst_…' }] })

/** The triggers that a caller may start: the API only `api`, the operator `manual` too. */
const kindsOf = { api: ['api'], operator: ['api', 'manual'] } satisfies Record<string, TriggerKind[]>

const requireJourney = async (work: Work, id: string, by: keyof typeof kindsOf): Promise<OpenJourney> => {
  const journey = await lockJourney(work, id)
  if (!journey.enabled) throw (by === 'api' ? invalid : conflict)('Journey is not enabled')
  if (!(kindsOf[by] as TriggerKind[]).includes(journey.triggerKind)) {
    throw by === 'api' ? invalid('Journey is not triggered by the API') : conflict('Journey is not triggered by hand')
  }
  return journey
}

/**
 * Enters a contact into a journey (POST /journeys/{id}/trigger). An address that is not in the list is added to it first.
 * Returns whether the contact entered: false if the re-entry rule refuses it. Throws Problem `not_found` for an unknown journey or
 * list, and `conflict` if the plan's contact limit is reached. For a disabled journey, and for one with another trigger, it throws
 * `invalid` to the API and `conflict` to the operator. Opens its own transactions: a new address is verified between them.
 */
export const triggerJourney = async (
  app: Pick<App, 'sql' | 'resolver' | 'now' | 'work'>,
  { accountId, actor, by }: { accountId: string; actor: string; by: keyof typeof kindsOf },
  journeyId: string,
  { email, listId, data }: z.output<typeof EntryRequest>,
): Promise<boolean> => {
  const contactIn = async (work: Work) => (await readContacts(work, email, listId))[0]
  const isKnown = await app.work(accountId, actor, async (work) => {
    await requireJourney(work, journeyId, by)
    await requireList(work, listId)
    return (await contactIn(work)) !== undefined
  })
  const verifications = isKnown ? new Map() : await verifyAddresses(app, [email])
  return writeFairly(app, accountId, actor, async (work) => {
    await ticketFirst(work)
    const journey = await requireJourney(work, journeyId, by)
    let contact = await contactIn(work)
    if (!contact) {
      const outcome = (await writeContacts(work, listId, [{ email, fields: {} }], verifications)).get(email)
      if (outcome === 'skipped') throw conflict("The plan's contact limit is reached")
      contact = await contactIn(work)
    }
    // A contact that another call has added is not locked, so it may have been removed meanwhile.
    if (!contact) throw new SerializationConflict('The contact was removed meanwhile')
    const runIds = await enterJourney(work, journey, [{ listId, rowId: contact.rowId, email, ...contextOfData(data) }])
    return runIds.length > 0
  })
}

const batchSize = 500

/** Progress over a list: the contacts read, and those that entered. `after` is the row id of the last contact read. */
interface Entered {
  contacts: number
  entered: number
  after: string
}

/** The contacts of a list that meet `condition`, after the row id `after`. */
interface Entrants {
  journeyId: string
  listId: string
  condition?: ContactCondition | undefined
  after?: string | undefined
  /** Merge data of each run. */
  data?: TriggerData | undefined
}

/**
 * Enters the active contacts of a list into a journey in the order of `rowId`, beginning after `after`. Works in batches, each in a
 * unit of work opened by `open`, until the end of the list or until `signal` is aborted. Contacts that the re-entry rule refuses
 * count as read only. Throws Problem as `triggerJourney`.
 */
export const triggerList = async (
  open: <T>(run: (work: Work) => Promise<T>) => Promise<T>,
  { journeyId, listId, condition, after = '', data }: Entrants,
  { signal, onBatch }: { signal: AbortSignal; onBatch: (done: Entered) => void },
): Promise<Entered> => {
  let done: Entered = { contacts: 0, entered: 0, after }
  let at: Date | undefined
  for (let isLast = false; !isLast && !signal.aborted; ) {
    const batch = await open(async (work) => {
      at ??= work.now
      const journey = await requireJourney(work, journeyId, 'operator')
      const people = await readRecipients(work, listId, { after: done.after, at, limit: batchSize, condition })
      const runIds = await enterJourney(
        work,
        journey,
        people.map(({ rowId, email }) => ({ listId, rowId, email, ...contextOfData(data) })),
      )
      return { people, entered: runIds.length }
    })
    isLast = batch.people.length < batchSize
    done = {
      contacts: done.contacts + batch.people.length,
      entered: done.entered + batch.entered,
      after: batch.people.at(-1)?.rowId ?? done.after,
    }
    onBatch(done)
  }
  return done
}
