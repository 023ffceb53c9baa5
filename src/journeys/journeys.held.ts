import type { HeldPart } from '../store/work.ts'
import { pastEntriesOf } from './journeys.past.ts'
import { runsOf } from './journeys.runs.ts'

/** An address's runs through journeys, with what started them, and the journeys of which its runs are no longer kept. */
export const held: HeldPart = {
  name: 'journeyRuns',
  async read(work, email) {
    const [address] = await work.sql<{ rowId: string }>(
      'select row_id as "rowId" from addresses where account_id = $1 and email = $2',
      [work.accountId, email],
    )
    const past = address ? await pastEntriesOf(work, address.rowId) : []
    return [...past.map((entry) => ({ ...entry, status: 'past' })), ...(await runsOf(work, email))]
  },
}
