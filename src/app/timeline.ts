import { timeline as timelineOfActivity } from '../activity/activity.timeline.ts'
import { timeline as timelineOfBookings } from '../bookings/bookings.timeline.ts'
import { timeline as timelineOfOrders } from '../checkout/checkout.timeline.ts'
import type { TimelinePart } from '../contacts/contacts.ts'
import { timeline as timelineOfCourses } from '../courses/courses.timeline.ts'
import { timeline as timelineOfDeals } from '../deals/deals.timeline.ts'
import { timeline as timelineOfEngagement } from '../engagement/engagement.timeline.ts'
import { timeline as timelineOfForms } from '../forms/forms.timeline.ts'
import { timeline as timelineOfJourneys } from '../journeys/journeys.timeline.ts'
import { timeline as timelineOfMessages } from '../messages/messages.timeline.ts'
import { timeline as timelineOfSuppressions } from '../suppressions/suppressions.timeline.ts'
import { timeline as timelineOfWebinars } from '../webinars/webinars.timeline.ts'

/** What the features besides contacts know about the past of an address, for `svc contacts show --timeline`. Their order does not matter. */
export const timelineParts: readonly TimelinePart[] = [
  timelineOfMessages,
  timelineOfSuppressions,
  timelineOfActivity,
  timelineOfEngagement,
  timelineOfBookings,
  timelineOfOrders,
  timelineOfForms,
  timelineOfDeals,
  timelineOfJourneys,
  timelineOfCourses,
  timelineOfWebinars,
]
