import { held as heldOfBookings } from '../bookings/bookings.held.ts'
import { forgetAttendee } from '../bookings/bookings.listeners.ts'
import { held as heldOfCheckout } from '../checkout/checkout.held.ts'
import { forgetPayer } from '../checkout/checkout.listeners.ts'
import { held as heldOfContacts } from '../contacts/contacts.held.ts'
import { held as heldOfCourses } from '../courses/courses.held.ts'
import { forgetMembers } from '../courses/courses.listeners.ts'
import { held as heldOfDeals } from '../deals/deals.held.ts'
import { forgetErased } from '../deals/deals.listeners.ts'
import { held as heldOfEngagement } from '../engagement/engagement.held.ts'
import { deliverToProjects, forgetInteractions } from '../engagement/engagement.listeners.ts'
import type { BlockForm, BlockKind } from '../engagement/engagement.ts'
import { forgetSignups } from '../forms/forms.listeners.ts'
import type { Route } from '../http/route.ts'
import { held as heldOfJourneys } from '../journeys/journeys.held.ts'
import { runJourneysByEvents } from '../journeys/journeys.listeners.ts'
import { held as heldOfMessages } from '../messages/messages.held.ts'
import { forgetRecipients } from '../messages/messages.listeners.ts'
import type { Page } from '../pages/page.ts'
import type { Bindable, HeldPart, Listener, Projects, Sources } from '../store/work.ts'
import { deliverEvents } from '../webhooks/webhooks.listeners.ts'
import { held as heldOfWebinars } from '../webinars/webinars.held.ts'
import { forgetAttendees } from '../webinars/webinars.listeners.ts'

/**
 * The features, each by its parts. Entities and routes are loaded when asked for: `svc --help` needs neither, a job's
 * thread no routes.
 */
export const loadEntities = async () => {
  const modules = await Promise.all([
    import('../accounts/accounts.entities.ts'),
    import('../contacts/contacts.entities.ts'),
    import('../studio/studio.entities.ts'),
    import('../messages/messages.entities.ts'),
    import('../broadcasts/broadcasts.entities.ts'),
    import('../engagement/engagement.entities.ts'),
    import('../checkout/checkout.entities.ts'),
    import('../forms/forms.entities.ts'),
    import('../bookings/bookings.entities.ts'),
    import('../deals/deals.entities.ts'),
    import('../journeys/journeys.entities.ts'),
    import('../lifecycle/lifecycle.entities.ts'),
    import('../courses/courses.entities.ts'),
    import('../webinars/webinars.entities.ts'),
    import('../deliveries/deliveries.entities.ts'),
    import('../webhooks/webhooks.entities.ts'),
    import('../store/worker.entities.ts'),
    import('../store/clock.entities.ts'),
    import('../store/installation.entities.ts'),
  ])
  return modules.flatMap((module) => Object.values(module))
}

/** The kinds of interactive blocks: how they are seen and answered. */
export const loadBlocks = async (): Promise<BlockKind[]> => {
  const modules = await Promise.all([
    import('../engagement/engagement.answers.ts'),
    import('../checkout/checkout.block.ts'),
    import('../bookings/bookings.blocks.ts'),
  ])
  return modules.flatMap(({ blocks }) => blocks)
}

/** The same as they stand in pages. */
const loadBlockForms = async (): Promise<BlockForm[]> => {
  const modules = await Promise.all([
    import('../engagement/liveview.answers.pages.ts'),
    import('../checkout/checkout.pages.ts'),
    import('../bookings/bookings.pages.ts'),
  ])
  return modules.flatMap(({ forms }) => forms)
}

export const loadRoutes = async (): Promise<Route[]> => {
  const [blocks, contacts, messages, engagement, deals, journeys, courses, webinars, webhooks] = await Promise.all([
    loadBlocks(),
    import('../contacts/contacts.routes.ts'),
    import('../messages/messages.routes.ts'),
    import('../engagement/engagement.routes.ts'),
    import('../deals/deals.routes.ts'),
    import('../journeys/journeys.routes.ts'),
    import('../courses/courses.routes.ts'),
    import('../webinars/webinars.routes.ts'),
    import('../webhooks/webhooks.routes.ts'),
  ])
  return [
    ...contacts.routes,
    ...messages.routes,
    ...engagement.routesOf(blocks),
    ...deals.routes,
    ...journeys.routes,
    ...courses.routes,
    ...webinars.routes,
    ...webhooks.routes,
  ]
}

export const loadPages = async (): Promise<Page[]> => {
  const [kinds, forms, liveview, ...modules] = await Promise.all([
    loadBlocks(),
    loadBlockForms(),
    import('../engagement/liveview.pages.ts'),
    import('../messages/messages.pages.ts'),
    import('../engagement/tracking.pages.ts'),
    import('../courses/courses.pages.ts'),
    import('../webinars/webinars.pages.ts'),
    import('../checkout/checkout.pages.ts'),
    import('../forms/forms.pages.ts'),
    import('../bookings/bookings.pages.ts'),
  ])
  return [...liveview.pagesOf(kinds, forms), ...modules.flatMap(({ pages }) => pages)]
}

/** What renders projects to mail, loaded where the first mail of a project is sent. */
export const projects: Projects = {
  loadProject: async (...of) => (await import('../engagement/engagement.projects.ts')).projects.loadProject(...of),
  renderProject: async (...of) => (await import('../engagement/engagement.projects.ts')).projects.renderProject(...of),
}

/** What lifecycle mails may be bound to. */
export const bindable: Bindable = {
  course: async (work, id) => (await import('../courses/courses.ts')).findCourseNamed(work, id),
  webinar: async (work, id) => (await import('../webinars/webinars.ts')).findWebinar(work, id),
}

/** What the definitions of journeys name of other features. */
export const sources: Sources = {
  project: async (work, ref) => (await import('../studio/studio.ts')).findProject(work, ref),
  form: async (work, ref) => (await import('../forms/forms.ts')).findForm(work, ref),
  course: async (work, ref) => (await import('../courses/courses.ts')).findCourseNamed(work, ref),
  webinar: async (work, ref) => (await import('../webinars/webinars.ts')).findWebinar(work, ref),
}

/** What the features hold about an address, in the order of `svc contacts export --email`. */
export const heldAbout: readonly HeldPart[] = [
  ...heldOfMessages,
  ...heldOfEngagement,
  heldOfBookings,
  heldOfCheckout,
  heldOfDeals,
  heldOfJourneys,
  ...heldOfCourses,
  ...heldOfWebinars,
  ...heldOfContacts,
]

/**
 * Who hears the events of other features, in the transaction that caused them: deals are locked before journey runs, bookings
 * before interactions.
 */
export const listeners: readonly Listener[] = [
  deliverEvents,
  deliverToProjects,
  forgetRecipients,
  forgetSignups,
  forgetAttendee,
  forgetPayer,
  forgetInteractions,
  forgetErased,
  forgetMembers,
  forgetAttendees,
  runJourneysByEvents,
]
