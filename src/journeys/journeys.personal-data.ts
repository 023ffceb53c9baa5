import { rowIdsOf } from '../contacts/contacts.ts'
import { deliveriesOfCallers } from '../deliveries/deliveries.ts'
import { addressPattern } from '../lib/erased.ts'
import type { PersonalDataPart } from '../store/work.ts'
import { pastEntriesOf } from './enrolment/past.ts'
import { stepsOf } from './files/files.ts'
import { namingJourneys, readVersions } from './journeys.erase.ts'
import { runsOf } from './journeys.runs.ts'

/** The journeys with emails that come from an address, by version. */
const journeysFrom: PersonalDataPart = {
  name: 'journeysFrom',
  // A setting of the account, as the address of a sender is.
  staysAtErasure: true,
  async read({ sql, accountId }, email) {
    const rows = await sql(readVersions, { accountId, pattern: addressPattern(email) })
    return rows
      .filter(({ definition }) => stepsOf(definition).some(({ step }) => step.sender === email))
      .map(({ journeyId: id, version }) => ({ id, version }))
  },
}

/** The journey runs of an address, the journeys whose runs of it are already purged, the calls of its runs, and the journeys that name it. */
export const personalData: readonly PersonalDataPart[] = [
  {
    name: 'journeyRuns',
    async read(work, email) {
      const rowId = (await rowIdsOf(work, [email])).get(email)
      const past = rowId ? await pastEntriesOf(work, rowId) : []
      return [...past.map((entry) => ({ ...entry, status: 'past' })), ...(await runsOf(work, email))]
    },
  },
  namingJourneys,
  journeysFrom,
  {
    name: 'journeyCalls',
    read: async (work, email) =>
      deliveriesOfCallers(
        work,
        (await runsOf(work, email)).map(({ id }) => id),
      ),
  },
]
