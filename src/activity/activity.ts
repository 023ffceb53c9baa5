import type { ContactPlace } from '../contacts/contacts.ts'
import type { TriggerData } from '../lib/merge-data.ts'

export { ActivityReport, type Recorded, recordActivity, resultOfKey } from './activity.record.ts'

/** An event that was recorded, with the contact that it is about. */
export interface RecordedActivity extends ContactPlace {
  name: string
  data: TriggerData | undefined
}

declare module '../store/work.ts' {
  interface Listener {
    /**
     * Events of different addresses were recorded; called in the transaction that records them. Returns how many journeys each of them
     * started.
     */
    activitiesRecorded?(work: Work, activities: readonly RecordedActivity[]): Promise<readonly number[]>
  }
}
