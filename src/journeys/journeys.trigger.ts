import { z } from 'zod'
import { demandList, readContacts, verifyAddresses, writeContacts } from '../contacts/contacts.ts'
import { emailAddress } from '../lib/address.ts'
import { conflict, invalid } from '../lib/problem.ts'
import { text } from '../lib/text.ts'
import type { App, Work } from '../store/work.ts'
import type { TriggerKind } from './journeys.definition.ts'
import { enterJourney } from './journeys.enrol.ts'
import { lockJourney, type OpenJourney } from './journeys.find.ts'

/** The body of POST /journeys/{id}/trigger. */
export const Entrant = z
  .object({ email: emailAddress(), listId: text(200) })
  .meta({ examples: [{ email: 'ada.okafor@northwind.example', listId: 'lst_…' }] })

/** What lets a contact in by hand: the API takes `api` alone, the operator `manual` too. */
const kindsOf = { api: ['api'], operator: ['api', 'manual'] } satisfies Record<string, TriggerKind[]>

const demandJourney = async (work: Work, id: string, by: keyof typeof kindsOf): Promise<OpenJourney> => {
  const journey = await lockJourney(work, id)
  if (!journey.enabled) throw invalid('Journey is not enabled')
  if (!(kindsOf[by] as TriggerKind[]).includes(journey.triggerKind)) {
    throw by === 'api' ? invalid('Journey is not triggered by the API') : conflict('Journey is not triggered by hand')
  }
  return journey
}

/**
 * Lets a contact into a journey (POST /journeys/{id}/trigger); an address that is not in the list is added to it first.
 * Gives whether it entered: one that is in it already, or may not enter again, does not, which is no failure. Throws
 * Problem `invalid` for a journey that is disabled, `missing` for an unknown journey or list, `conflict` where the plan has
 * no room; for a journey with another trigger `invalid` to the API, `conflict` to the operator. Opens its own
 * transactions: a new address is verified between them.
 */
export const triggerJourney = async (
  app: Pick<App, 'sql' | 'resolver' | 'now' | 'work'>,
  { accountId, actor, by }: { accountId: string; actor: string; by: keyof typeof kindsOf },
  journeyId: string,
  { email, listId }: z.output<typeof Entrant>,
): Promise<boolean> => {
  const contactIn = async (work: Work) => (await readContacts(work, email, listId))[0]
  const isKnown = await app.work(accountId, actor, async (work) => {
    await demandJourney(work, journeyId, by)
    await demandList(work, listId)
    return (await contactIn(work)) !== undefined
  })
  const verdicts = isKnown ? new Map() : await verifyAddresses(app, [email])
  return app.work(accountId, actor, async (work) => {
    const journey = await demandJourney(work, journeyId, by)
    let contact = await contactIn(work)
    if (!contact) {
      await writeContacts(work, listId, [{ email, fields: {} }], verdicts)
      contact = await contactIn(work)
    }
    if (!contact) throw conflict("The plan's contact limit is reached")
    const runIds = await enterJourney(work, journey, [{ listId, rowId: contact.rowId, email }])
    return runIds.length > 0
  })
}
