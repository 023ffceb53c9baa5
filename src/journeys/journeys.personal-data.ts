import { rowIdsOf } from '../contacts/contacts.ts'
import { deliveriesOfCallers } from '../deliveries/deliveries.ts'
import type { PersonalDataPart } from '../store/work.ts'
import { pastEntriesOf } from './enrolment/past.ts'
import { namingJourneys } from './journeys.erase.ts'
import { runsOf } from './journeys.runs.ts'

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
  {
    name: 'journeyCalls',
    read: async (work, email) =>
      deliveriesOfCallers(
        work,
        (await runsOf(work, email)).map(({ id }) => id),
      ),
  },
]
