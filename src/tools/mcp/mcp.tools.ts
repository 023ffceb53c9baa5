import { z } from 'zod'
import { examine } from '../../app/operate/operate.ts'
import { listBookings, showBooking } from '../../bookings/bookings.ts'
import { listBroadcasts, resultsOfBroadcast, showBroadcastInDetail } from '../../broadcasts/broadcasts.ts'
import {
  EmailInput,
  findList,
  listContacts,
  listLists,
  readTimeline,
  showContact,
  withSuppression,
} from '../../contacts/contacts.ts'
import { findCourseNamed, listCourses, progressOfCourse } from '../../courses/courses.ts'
import {
  changeDeal,
  DealChange,
  dealHistory,
  findPipeline,
  findStage,
  listDeals,
  listPipelines,
  StageKind,
  showDeal,
} from '../../deals/deals.ts'
import { DeliveryFilter, listDeliveries } from '../../deliveries/deliveries.find.ts'
import { cancelBatch, countDeliveries, replayBatch, requireDeliveries } from '../../deliveries/deliveries.replay.ts'
import { showDelivery } from '../../deliveries/deliveries.ts'
import { findForm, formStats, listForms, viewForm } from '../../forms/forms.ts'
import {
  EntryRequest,
  findJourney,
  journeysAwaiting,
  listJourneys,
  listRuns,
  RunRequest,
  showRun,
  triggerJourney,
} from '../../journeys/journeys.ts'
import { given } from '../../lib/given.ts'
import { idAt } from '../../lib/ids.ts'
import { conflict } from '../../lib/problem.ts'
import { quantity } from '../../lib/quantity.ts'
import { parseSince } from '../../lib/since.ts'
import { listMessages, SendResult, showMessageInDetail } from '../../messages/messages.ts'
import { machineActions, resultsOf } from '../../results/results.ts'
import { countSegment, findSegment, listSegments, narrow } from '../../segments/segments.ts'
import { mostDays, readStats } from '../../stats/stats.ts'
import type { App, Work } from '../../store/work.ts'
import { listProjects, loadProject } from '../../studio/studio.ts'
import {
  listSuppressions,
  listTopics,
  SuppressionReasonShape,
  suppressAddresses,
} from '../../suppressions/suppressions.ts'
import { listWebhooks } from '../../webhooks/webhooks.ts'
import { findWebinar, listWebinars, readDetails, webinarStats } from '../../webinars/webinars.ts'
import { maskedUrl, withMaskedCalls } from './mcp.answers.ts'
import { boundedPage, pageOfWhole, shortened } from './mcp.bounds.ts'
import { longPageShape, pageShape, type Tool, tool } from './mcp.tool.ts'

/*
 * The tools of `svc mcp` (docs/mcp.md). Their inputs are the shapes that validate the API and the commands. No answer contains the
 * content of an email, which may have links that act for its recipient, nor a secret.
 */

const ref = (what: string) => z.string().min(1).max(200).describe(`id or name of the ${what}`)
const id = (noun: string) => z.string().min(1).max(100).describe(`id of the ${noun}`)
/** Stored addresses may be malformed. */
const held = EmailInput.describe('an address, in any case')
const address = EntryRequest.shape.email.describe('an email address')
const since = z.string().max(40).optional().describe('an age such as 7d, or an ISO time, in UTC without an offset')

const { status: deliveryStatus, webhook: deliveryWebhook, type: eventType } = DeliveryFilter.shape
const ids = z.array(id('delivery')).min(1).max(100)

/** A tool that lists all things of a noun, in pages of a list that is read whole. */
const whole = (noun: string, description: string, list: (work: Work, app: App) => Promise<{ id: string }[]>): Tool =>
  tool({
    name: `${noun}_list`,
    description,
    input: z.object(longPageShape),
    run: ({ app, work }, page) =>
      boundedPage(noun, page, async (request) => pageOfWhole(await work((w) => list(w, app)), request)),
  })

const contacts: Tool[] = [
  whole('lists', 'All lists of contacts with their columns and exact numbers of contacts.', listLists),
  tool({
    name: 'contacts_list',
    description:
      'Contacts of the account, of a list, or those that meet a filter such as `plan = pro and opened < 30d` (needs a list if it names columns).',
    input: z.object({
      list: ref('list').optional(),
      where: z.string().max(4000).optional().describe('a filter: docs/reference/segments.md'),
      segment: ref('segment').optional().describe('id or name of a segment, instead of list and where'),
      ...pageShape,
    }),
    run: async ({ app, work }, { limit, cursor, ...asked }) => {
      const selected = await work((w) => narrow(w, given(asked)))
      return boundedPage('contacts', { limit, cursor }, (page) =>
        work(async (w) => {
          const found = await listContacts(w, { ...page, ...selected })
          return { ...found, rows: await withSuppression(app, w, found.rows) }
        }),
      )
    },
  }),
  tool({
    name: 'contacts_show',
    description:
      'An address in each of its lists, with its fields and verification, and its timeline: emails, opens, clicks, answers, deals, journeys, newest first.',
    input: z.object({
      email: held,
      timeline: z.int().min(0).max(200).default(20).describe('newest entries of the timeline to return'),
    }),
    run: ({ app, work }, { email, timeline }) =>
      work(async (w) => {
        const { contacts, ...more } =
          timeline === 0 ? { contacts: await showContact(w, email) } : await readTimeline(app, w, email, timeline)
        return { contacts: await withSuppression(app, w, contacts), ...more }
      }),
  }),
]

/** Properties of an email that may hold links and codes for its recipient. */
const contentOfSend: readonly string[] = ['html', 'text', 'calendar', 'mergeData', 'headers']

const mail: Tool[] = [
  tool({
    name: 'suppressions_list',
    description: 'Addresses that get no email (complained, bounced, manual) or no marketing email (unsubscribed).',
    input: z.object({ email: held.optional(), reason: SuppressionReasonShape.optional(), ...pageShape }),
    run: ({ work }, { email = null, reason = null, ...page }) =>
      boundedPage('suppressions', page, (request) => work((w) => listSuppressions(w, { email, reason }, request))),
  }),
  tool({
    name: 'suppressions_add',
    description: 'The address gets no email any more; with the reason unsubscribed no marketing email.',
    input: z.object({ email: address, reason: SuppressionReasonShape.default('manual') }),
    changes: {
      isIdempotent: true,
      asks: async (_, { email, reason }) =>
        `Suppress ${email} (${reason})? It gets ${reason === 'unsubscribed' ? 'no marketing email' : 'no email'} any more, and its journeys that exit by that end.`,
    },
    run: async ({ work }, { email, reason }) => {
      const added = await work((w) => suppressAddresses(w, [email], reason))
      return { email, reason, added: added.length > 0 }
    },
  }),
  tool({
    name: 'sends_list',
    description: 'Sent, queued, failed and suppressed emails, newest first, with the reason of a failure.',
    input: z.object({ status: SendResult.shape.status.optional(), to: held.optional(), since, ...pageShape }),
    run: ({ app, work }, { status = null, to = null, since: age, ...page }) => {
      const sinceId = age === undefined ? null : idAt('msg', parseSince(age, app.now().getTime()))
      return boundedPage('sends', page, (request) =>
        work((w) => listMessages(w, { status, email: to, sinceId }, request)),
      )
    },
  }),
  tool({
    name: 'sends_show',
    description: 'Status, error, sender, cause and place in the queue of one email. Its content is not included.',
    input: z.object({ id: id('email') }),
    run: async ({ work }, input) => {
      const detail = await work((w) => showMessageInDetail(w, input.id))
      return { send: Object.fromEntries(Object.entries(detail).filter(([name]) => !contentOfSend.includes(name))) }
    },
  }),
  tool({
    name: 'broadcasts_list',
    description: 'Marketing emails to lists and segments, newest first, with their state.',
    input: z.object(pageShape),
    run: ({ work }, page) => boundedPage('broadcasts', page, (request) => work((w) => listBroadcasts(w, request))),
  }),
  tool({
    name: 'broadcasts_show',
    description:
      'State and progress of a broadcast, and its results: delivered, opened, clicked, answered, bounced, by day and by link.',
    input: z.object({ id: ref('broadcast') }),
    run: ({ work }, input) =>
      work(async (w) => {
        const broadcast = await showBroadcastInDetail(w, input.id)
        return {
          broadcast,
          ...(await machineActions(w, broadcast.id)),
          ...(await resultsOfBroadcast(w, broadcast.id)),
        }
      }),
  }),
]

/** Replaces the URL by its host. */
const masked = <Row extends object>(row: Row): Row =>
  'url' in row && typeof row.url === 'string' ? { ...row, url: maskedUrl(row.url) } : row

const cancelFilter = (chosen: readonly string[]) => ({ ids: [...chosen], status: 'pending' as const })

const webhooks: Tool[] = [
  whole('webhooks', 'Where events are posted, with the last success and the last failure of each.', async (work) =>
    (await listWebhooks(work)).map(masked),
  ),
  tool({
    name: 'deliveries_list',
    description:
      'Deliveries of events to webhooks, newest first, with the last answer. `exhausted`: all attempts failed; `pending`: it will be tried (again).',
    input: z.object({ status: deliveryStatus, webhook: deliveryWebhook, type: eventType, since, ...pageShape }),
    run: ({ app, work }, { since: age, limit, cursor, ...rest }) => {
      const filter = {
        ...given(rest),
        ...(age !== undefined && { since: parseSince(age, app.now().getTime()) }),
      }
      return boundedPage('deliveries', { limit, cursor }, (page) =>
        work(async (w) => {
          const { rows, nextCursor } = await listDeliveries(w, filter, page)
          return { rows: rows.map(masked), nextCursor }
        }),
      )
    },
  }),
  tool({
    name: 'deliveries_show',
    description:
      'Each attempt of a delivery with status, error and duration, the state of its webhook, and the posted event.',
    input: z.object({ id: id('delivery') }),
    run: ({ work }, input) =>
      work(async (w) => {
        const delivery = await showDelivery(w, input.id)
        // A journey's own call has no subscription.
        const webhook = (await listWebhooks(w)).find((one) => one.id === delivery.webhookId) ?? null
        return { delivery: masked(delivery), webhook: webhook && masked(webhook) }
      }),
  }),
  tool({
    name: 'deliveries_replay',
    description:
      'Posts deliveries again to the current URL of their webhook, with the same body and idempotency key. Those whose webhook is gone or disabled are left out.',
    input: z.object({ ids }),
    changes: { reachesOut: true },
    run: ({ app, work }, input) =>
      work(async (w) => {
        await requireDeliveries(w, input.ids)
        const { matched, leftOut } = await countDeliveries(w, { ids: input.ids })
        if (matched === leftOut)
          throw conflict('Nothing can be replayed: the webhook of each delivery is gone or disabled')
        const { changed } = await replayBatch(w, { ids: input.ids }, { startedAt: app.now(), changed: 0 })
        return { replayed: changed, leftOut: matched - changed }
      }),
  }),
  tool({
    name: 'deliveries_cancel',
    description: 'Cancels deliveries that are pending: their events are not posted any more.',
    input: z.object({ ids }),
    changes: {
      isIdempotent: true,
      asks: ({ work }, input) =>
        work(async (w) => {
          await requireDeliveries(w, input.ids)
          const { matched } = await countDeliveries(w, cancelFilter(input.ids))
          if (matched === 0) throw conflict('Nothing to cancel: no such delivery is pending')
          const theirs = matched === 1 ? 'Its event' : 'Their events'
          return `Cancel ${quantity(matched, 'pending delivery', 'pending deliveries')}? ${theirs} will not be posted.`
        }),
    },
    run: ({ app, work }, input) =>
      work(async (w) => {
        await requireDeliveries(w, input.ids)
        const { changed } = await cancelBatch(w, cancelFilter(input.ids), { startedAt: app.now(), changed: 0 })
        return { cancelled: changed }
      }),
  }),
]

const journeyNamed = { journey: ref('journey') }

const journeys: Tool[] = [
  whole('journeys', 'Automated steps for contacts, most recently updated first, with what starts them.', (w) =>
    listJourneys(w),
  ),
  tool({
    name: 'journeys_show',
    description: 'The definition of a journey, and the results of its emails.',
    input: z.object(journeyNamed),
    run: ({ work }, input) =>
      work(async (w) => {
        const journey = await findJourney(w, input.journey)
        return {
          journey: withMaskedCalls(journey),
          ...(await machineActions(w, journey.id)),
          stats: await resultsOf(w, journey.id),
        }
      }),
  }),
  tool({
    name: 'journeys_runs',
    description:
      'Contacts in a journey, newest first: status, next step, when it is due, and the last error. With `run`: its completed steps.',
    input: z.object({
      ...journeyNamed,
      status: RunRequest.shape.status,
      run: id('run').optional(),
      ...pageShape,
    }),
    run: async ({ work }, { journey, status, run, ...page }) => {
      const { id: journeyId } = await work((w) => findJourney(w, journey))
      if (run !== undefined) return { run: await work((w) => showRun(w, journeyId, run)) }
      return boundedPage('runs', page, (request) => work((w) => listRuns(w, { journeyId, status, ...request })))
    },
  }),
  tool({
    name: 'journeys_trigger',
    description:
      'Starts a journey with the trigger api or manual for one address, which is added to the list first. Its steps may send email.',
    input: z.object({
      ...journeyNamed,
      email: address,
      list: ref('list'),
      data: EntryRequest.shape.data,
    }),
    changes: {
      reachesOut: true,
      async asks({ work }, { journey, email, list: listRef, data }) {
        const [{ name }, list] = await work(
          async (w) => [await findJourney(w, journey), await findList(w, listRef)] as const,
        )
        const values = data === undefined ? '' : ` With the data ${shortened(JSON.stringify(data), 500)}.`
        return `Let ${email}, in the list ${JSON.stringify(list.name)}, into the journey ${JSON.stringify(name)}? Its steps may send email.${values}`
      },
    },
    run: async ({ account, actor, app, work }, { journey, list, ...entrant }) => {
      const { id: journeyId } = await work((w) => findJourney(w, journey))
      const { id: listId } = await work((w) => findList(w, list))
      const by = { accountId: account.id, actor, by: 'operator' as const }
      return { entered: await triggerJourney(app, by, journeyId, { ...entrant, listId }) }
    },
  }),
]

/** Returns the names of the journeys that start when a deal moves to a stage. */
const startedByMove = async (
  work: Work,
  deal: { pipelineId: string; stageId: string },
  stageId: string,
): Promise<string[]> => {
  const started: string[] = []
  for (const { id: journeyId, name, enabled, triggerKind } of await listJourneys(work)) {
    if (!enabled || triggerKind !== 'deal-stage-changed') continue
    const { trigger } = (await findJourney(work, journeyId)).definition
    const {
      pipeline = deal.pipelineId,
      stage = stageId,
      from = deal.stageId,
    } = trigger as Record<string, string | undefined>
    if (pipeline === deal.pipelineId && stage === stageId && from === deal.stageId) started.push(name)
  }
  return started
}

const deals: Tool[] = [
  whole('pipelines', 'Pipelines and their stages in the order of the board.', listPipelines),
  tool({
    name: 'deals_list',
    description: 'Deals, newest first.',
    input: z.object({
      pipeline: ref('pipeline').optional(),
      stage: ref('stage').optional(),
      status: StageKind.optional(),
      email: held.optional(),
      ...pageShape,
    }),
    run: ({ work }, { pipeline, stage, status, email, ...page }) =>
      boundedPage('deals', page, (request) =>
        work(async (w) => {
          const pipelineId = pipeline && (await findPipeline(w, pipeline)).id
          const stageId = stage && (await findStage(w, stage, pipelineId)).id
          return listDeals(w, { pipelineId, stageId, status, email }, request)
        }),
      ),
  }),
  tool({
    name: 'deals_show',
    description: 'A deal and its moves, oldest first, with who made them.',
    input: z.object({ id: id('deal') }),
    run: ({ work }, input) =>
      work(async (w) => ({ deal: await showDeal(w, input.id), history: await dealHistory(w, input.id) })),
  }),
  tool({
    name: 'deals_move',
    description: 'Moves a deal to another stage of its pipeline. Fires deal.stage_changed, which may start journeys.',
    input: z.object({ id: id('deal'), stage: ref('stage') }),
    changes: {
      isIdempotent: true,
      reachesOut: true,
      asks: ({ work }, input) =>
        work(async (w) => {
          const deal = await showDeal(w, input.id)
          const stage = await findStage(w, input.stage, deal.pipelineId)
          if (stage.id === deal.stageId) return null
          const [started, awaiting] = [
            await startedByMove(w, deal, stage.id),
            await journeysAwaiting(w, deal.rowId, 'deal.stage_changed'),
          ]
          const named = (verb: string, journeys: readonly string[]) =>
            journeys.length > 0 ? [`${verb} ${journeys.map((name) => JSON.stringify(name)).join(', ')}`] : []
          const effects = [...named('starts', started), ...named('may continue', awaiting)]
          if (effects.length === 0) return null
          return `Move the deal ${JSON.stringify(deal.title)} to ${JSON.stringify(stage.name)}? This ${effects.join(' and ')}, whose steps may send email to ${deal.email}.`
        }),
    },
    run: ({ work }, input) =>
      work(async (w) => {
        const { pipelineId } = await showDeal(w, input.id)
        const { id: stageId } = await findStage(w, input.stage, pipelineId)
        return { ...(await changeDeal(w, input.id, DealChange.parse({ stageId }))) }
      }),
  }),
]

const marketing: Tool[] = [
  whole('segments', 'Named filters of the contacts of a list.', listSegments),
  tool({
    name: 'segments_show',
    description: 'The filter of a segment, and how many contacts are in it now.',
    input: z.object({ segment: ref('segment') }),
    run: ({ work }, input) =>
      work(async (w) => {
        const segment = await findSegment(w, input.segment)
        return { segment: { ...segment, count: await countSegment(w, segment) } }
      }),
  }),
  whole('topics', 'Kinds of marketing email. Recipients can unsubscribe from each.', listTopics),
  whole('projects', 'Designs of emails with their versions.', listProjects),
  tool({
    name: 'projects_show',
    description: 'The blocks of an email’s design as its author wrote them, and the results of the emails.',
    input: z.object({ project: ref('project') }),
    run: ({ work }, input) =>
      work(async (w) => {
        const project = await loadProject(w, input.project)
        return { project, ...(await machineActions(w, project.id)), stats: await resultsOf(w, project.id) }
      }),
  }),
  whole('forms', 'Hosted signup forms with their fields, lists and addresses.', async (work, app) =>
    (await listForms(work)).map((form) => viewForm(form, app.config.publicUrl)),
  ),
  tool({
    name: 'forms_show',
    description: 'A hosted signup form with its fields, list, origins and address, and its submissions by day.',
    input: z.object({ form: ref('form') }),
    run: ({ app, work }, input) =>
      work(async (w) => {
        const form = await findForm(w, input.form)
        return { form: viewForm(form, app.config.publicUrl), stats: await formStats(w, form.id) }
      }),
  }),
  whole('webinars', 'Webinars, newest first, with their state, time and registrations.', (w) => listWebinars(w)),
  tool({
    name: 'webinars_show',
    description: 'A webinar, and the numbers of its registrations by day and status.',
    input: z.object({ webinar: z.string().min(1).max(200).describe('id or title of the webinar') }),
    run: ({ work }, input) =>
      work(async (w) => {
        const webinar = await findWebinar(w, input.webinar)
        return {
          webinar: { ...webinar, ...(await readDetails(w, webinar.id)) },
          stats: await webinarStats(w, webinar.id),
        }
      }),
  }),
  whole('courses', 'Courses with their state.', listCourses),
  tool({
    name: 'courses_show',
    description: 'A course with its lessons, and how many members have finished them.',
    input: z.object({ course: z.string().min(1).max(200).describe('id or title of the course') }),
    run: ({ work }, input) =>
      work(async (w) => {
        const course = await findCourseNamed(w, input.course)
        return { course: { ...course, ...(await progressOfCourse(w, course.id)) } }
      }),
  }),
  tool({
    name: 'bookings_show',
    description: 'A booking with its time, attendee and state.',
    input: z.object({ id: id('booking') }),
    run: async ({ work }, input) => ({ booking: await work((w) => showBooking(w, input.id)) }),
  }),
  tool({
    name: 'bookings_list',
    description: 'Times that people booked, newest first.',
    input: z.object({ email: held.optional(), ...pageShape }),
    run: ({ work }, { email = null, ...page }) =>
      boundedPage('bookings', page, (request) => work((w) => listBookings(w, { status: null, email }, request))),
  }),
]

/** Checks of the whole installation. Others name what belongs to accounts. */
const sharedChecks = [
  'node',
  'data folder',
  'disk',
  'erasures',
  'database',
  'schema',
  'clock',
  'secret',
  'dns',
  'public url',
  'port',
  'settings',
]

const overview: Tool[] = [
  tool({
    name: 'stats',
    description:
      'Contacts, results of emails by day, deals, deliveries and quotas of the last UTC days, the current one included.',
    input: z.object({ days: z.int().min(1).max(mostDays).default(30) }),
    run: async ({ work }, { days }) => ({ ...(await work((w) => readStats(w, days))).stats }),
  }),
  tool({
    name: 'doctor',
    description:
      'Checks Node, disk, database, schema, clock, secret, DNS, port and settings: ok, warn or fail, with what to do.',
    input: z.object({}),
    run: async () => ({ checks: (await examine()).filter(({ name }) => sharedChecks.includes(name)) }),
  }),
]

export const tools: readonly Tool[] = [
  ...contacts,
  ...mail,
  ...webhooks,
  ...journeys,
  ...deals,
  ...marketing,
  ...overview,
]
