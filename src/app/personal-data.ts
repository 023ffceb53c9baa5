import { personalData as personalDataOfActivity } from '../activity/activity.personal-data.ts'
import { personalData as personalDataOfBookings } from '../bookings/bookings.personal-data.ts'
import { personalData as personalDataOfBroadcasts } from '../broadcasts/broadcasts.personal-data.ts'
import { personalData as personalDataOfCheckout } from '../checkout/checkout.personal-data.ts'
import { personalData as personalDataOfContacts } from '../contacts/contacts.personal-data.ts'
import { personalData as personalDataOfCourses } from '../courses/courses.personal-data.ts'
import { personalData as personalDataOfDeals } from '../deals/deals.personal-data.ts'
import { personalData as personalDataOfDeliveries } from '../deliveries/deliveries.personal-data.ts'
import { personalData as personalDataOfEngagement } from '../engagement/engagement.personal-data.ts'
import { personalData as personalDataOfForms } from '../forms/forms.personal-data.ts'
import { personalData as personalDataOfJourneys } from '../journeys/journeys.personal-data.ts'
import { personalData as personalDataOfLifecycle } from '../lifecycle/lifecycle.personal-data.ts'
import { personalData as personalDataOfMessages } from '../messages/messages.personal-data.ts'
import { personalData as personalDataOfResults } from '../results/results.personal-data.ts'
import { personalData as personalDataOfSegments } from '../segments/segments.personal-data.ts'
import { personalData as personalDataOfSenders } from '../senders/senders.personal-data.ts'
import type { PersonalDataPart } from '../store/work.ts'
import { personalData as personalDataOfSuppressions } from '../suppressions/suppressions.personal-data.ts'
import { personalData as personalDataOfWebinars } from '../webinars/webinars.personal-data.ts'

/** What the features hold about an address, in the order of `svc contacts export --email`. */
export const personalData: readonly PersonalDataPart[] = [
  ...personalDataOfMessages,
  personalDataOfResults,
  personalDataOfSuppressions,
  ...personalDataOfEngagement,
  personalDataOfActivity,
  personalDataOfBookings,
  personalDataOfCheckout,
  ...personalDataOfForms,
  personalDataOfDeals,
  ...personalDataOfJourneys,
  ...personalDataOfCourses,
  ...personalDataOfWebinars,
  ...personalDataOfContacts,
  personalDataOfSegments,
  ...personalDataOfBroadcasts,
  ...personalDataOfSenders,
  personalDataOfLifecycle,
  ...personalDataOfDeliveries,
]
