import { forgetActivities } from '../activity/activity.personal-data.ts'
import { forgetAttendee } from '../bookings/bookings.listeners.ts'
import { countBroadcasts } from '../broadcasts/broadcasts.listeners.ts'
import { forgetInBroadcasts } from '../broadcasts/broadcasts.personal-data.ts'
import { forgetPayer } from '../checkout/checkout.personal-data.ts'
import { forgetMembers } from '../courses/courses.personal-data.ts'
import { forgetErased } from '../deals/deals.listeners.ts'
import { forgetNamed, moveDeliveries } from '../deliveries/deliveries.listeners.ts'
import { deliverToProjects, forgetInteractions, reportActions } from '../engagement/engagement.listeners.ts'
import { forgetSignups } from '../forms/forms.listeners.ts'
import { runJourneysByEvents } from '../journeys/journeys.listeners.ts'
import { countBindings } from '../lifecycle/lifecycle.listeners.ts'
import { countUnsubscribed, forgetRecipients, resumeMessages } from '../messages/messages.listeners.ts'
import { forgetInSegments } from '../segments/segments.personal-data.ts'
import { forgetInSenders } from '../senders/senders.personal-data.ts'
import type { Listener } from '../store/work.ts'
import { countRemovals } from '../suppressions/suppressions.ts'
import { deliverEvents } from '../webhooks/webhooks.listeners.ts'
import { detachCourse } from '../webinars/webinars.listeners.ts'
import { forgetAttendees } from '../webinars/webinars.personal-data.ts'

/**
 * The listeners, called in this order in the transaction that causes an event. The order is a lock order: deals before
 * journey runs, bookings before interactions, and what withdraws emails (bookings, webinars, journey runs) before queued messages.
 */
export const listeners: readonly Listener[] = [
  deliverEvents,
  deliverToProjects,
  forgetInSegments,
  forgetInBroadcasts,
  forgetInSenders,
  forgetActivities,
  forgetSignups,
  forgetAttendee,
  forgetPayer,
  forgetInteractions,
  forgetErased,
  forgetMembers,
  forgetAttendees,
  detachCourse,
  forgetNamed,
  moveDeliveries,
  countBindings,
  countBroadcasts,
  countRemovals,
  runJourneysByEvents,
  countUnsubscribed,
  forgetRecipients,
  resumeMessages,
  reportActions,
]
