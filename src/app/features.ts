import type { Suppressing, TimelinePart } from '../contacts/contacts.ts'
import type { BlockForm, BlockKind } from '../engagement/engagement.ts'
import type { Sources } from '../journeys/journeys.ts'
import type { Bindable } from '../lifecycle/lifecycle.ts'
import type { Projects } from '../messages/messages.ts'
import type { Page } from '../pages/page.ts'
import type { FilterParts } from '../segments/segments.ts'
import type { Listener, PersonalDataPart } from '../store/work.ts'

/** Loads the kinds of interactive blocks: how each is shown and answered. */
export const loadBlocks = async (): Promise<BlockKind[]> => {
  const modules = await Promise.all([
    import('../engagement/engagement.ts'),
    import('../checkout/checkout.block.ts'),
    import('../bookings/bookings.blocks.ts'),
  ])
  return modules.flatMap(({ blocks }) => blocks)
}

/** Loads the forms of interactive blocks in pages. */
const loadBlockForms = async (): Promise<BlockForm[]> => {
  const modules = await Promise.all([
    import('../engagement/liveview/answers.pages.ts'),
    import('../checkout/checkout.pages.ts'),
    import('../bookings/bookings.pages.ts'),
  ])
  return modules.flatMap(({ forms }) => forms)
}

export const loadRoutes = async () => {
  const [
    blocks,
    contacts,
    segments,
    activity,
    messages,
    suppressions,
    broadcasts,
    engagement,
    sends,
    deals,
    journeys,
    courses,
    webinars,
    webhooks,
  ] = await Promise.all([
    loadBlocks(),
    import('../contacts/contacts.routes.ts'),
    import('../segments/segments.routes.ts'),
    import('../activity/activity.routes.ts'),
    import('../messages/api/send.routes.ts'),
    import('../suppressions/suppressions.routes.ts'),
    import('../broadcasts/broadcasts.routes.ts'),
    import('../engagement/liveview/liveview.routes.ts'),
    import('../engagement/interactions/sends.routes.ts'),
    import('../deals/deals.routes.ts'),
    import('../journeys/journeys.routes.ts'),
    import('../courses/courses.routes.ts'),
    import('../webinars/webinars.routes.ts'),
    import('../webhooks/webhooks.routes.ts'),
  ])
  return [
    ...contacts.routes,
    ...segments.routes,
    ...messages.routes,
    ...sends.routes,
    ...suppressions.routes,
    ...broadcasts.routes,
    ...engagement.routesOf(blocks),
    ...deals.routes,
    ...journeys.routes,
    ...courses.routes,
    ...webinars.routes,
    ...activity.routes,
    ...webhooks.routes,
  ]
}

/** Loads the hosted pages. `consoleUrl` is the console of `svc dev`, which the page `/` links to. */
export const loadPages = async (consoleUrl?: string): Promise<Page[]> => {
  const [kinds, forms, { homePage }, liveview, ...modules] = await Promise.all([
    loadBlocks(),
    loadBlockForms(),
    import('./home.page.ts'),
    import('../engagement/liveview/liveview.pages.ts'),
    import('../accounts/accounts.pages.ts'),
    import('../messages/unsubscribe.pages.ts'),
    import('../engagement/tracking/tracking.pages.ts'),
    import('../courses/courses.pages.ts'),
    import('../webinars/join/join.pages.ts'),
    import('../webinars/register/register.pages.ts'),
    import('../checkout/checkout.pages.ts'),
    import('../forms/forms.pages.ts'),
    import('../bookings/bookings.pages.ts'),
  ])
  return [homePage(consoleUrl), ...liveview.pagesOf(kinds, forms), ...modules.flatMap(({ pages }) => pages)]
}

/** Renders projects to emails. It is loaded for the first email of a project. */
export const projects: Projects = {
  loadProject: async (...of) => (await import('../engagement/engagement.projects.ts')).projects.loadProject(...of),
  renderProject: async (...of) => (await import('../engagement/engagement.projects.ts')).projects.renderProject(...of),
}

/** Lookups of the subjects of lifecycle emails, which lock them against their deletion. */
export const bindable: Bindable = {
  async course(work, ref) {
    const { findCourseNamed, holdCourse } = await import('../courses/courses.ts')
    return holdCourse(work, (await findCourseNamed(work, ref)).id)
  },
  async webinar(work, ref) {
    const { findWebinar, lockWebinar } = await import('../webinars/webinars.ts')
    return lockWebinar(work, (await findWebinar(work, ref)).id, 'read')
  },
}

/** Lookups of the objects of other features that definitions of journeys name. */
export const sources: Sources = {
  sender: async (work, ref) => ({
    id: await (await import('../senders/senders.ts')).requireSender(work, ref),
  }),
  project: async (work, ref) => (await import('../studio/studio.ts')).findProject(work, ref),
  form: async (work, ref) => (await import('../forms/forms.ts')).findForm(work, ref),
  course: async (work, ref) => (await import('../courses/courses.ts')).findCourseNamed(work, ref),
  webinar: async (work, ref) => (await import('../webinars/webinars.ts')).findWebinar(work, ref),
}

/** Loads what the features hold about addresses, with parts of most features: only exports and erasures need it. */
export const loadPersonalData = async (): Promise<readonly PersonalDataPart[]> =>
  (await import('./personal-data.ts')).personalData

/** Loads what the features know about the past of an address, with parts of most features. */
export const loadTimelineParts = async (): Promise<readonly TimelinePart[]> =>
  (await import('./timeline.ts')).timelineParts

/** Loads what imports of contacts do with suppressions. */
export const loadSuppressing = async (): Promise<Suppressing> =>
  (await import('../suppressions/suppressions.ts')).suppressing

/** Loads what filters may name besides contacts, with parts of most features. */
export const loadFilterParts = async (): Promise<FilterParts> => (await import('./filter-parts.ts')).filterParts

/** Loads the listeners, with parts of most features: a command that only reads does not need them. */
export const loadListeners = async (): Promise<readonly Listener[]> => (await import('./listeners.ts')).listeners
