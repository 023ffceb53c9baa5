import { findIdByEnd, hasIds, onlyId } from '../app/find-ids.ts'
import type { Choice } from '../cli/ask.ts'
import type { Choices, ChoicesOf, Given } from '../cli/choices.ts'
import type { Context } from '../cli/command.ts'
import { closedSetAt, placeAt } from '../cli/define.ts'
import { moneyText } from '../cli/output.ts'
import { Problem } from '../lib/problem.ts'
import { quantity } from '../lib/quantity.ts'

/*
 * The values of flags and arguments, for questions on a terminal and for suggestions after a mistyped value. What they name
 * follows from the definition of the command. A value that has an id may be given by the end of it.
 */

/** Offers the newest entries of lists of unbounded length. */
const newest = { limit: 200 }

interface Named {
  id: string
  name: string
}

const about = (text: string | undefined) => (text ? { about: text } : {})

/** Returns choices by name, or by id if several rows share the name. */
const byName = <Row extends Named>(rows: readonly Row[], textOf: (row: Row) => string | undefined): Choice[] =>
  rows.map((row) => {
    const isOnly = rows.filter(({ name }) => name === row.name).length === 1
    return { value: isOnly ? row.name : row.id, name: row.name, ...about(textOf(row)) }
  })

const titled = (rows: readonly { id: string; title: string; status?: string }[]): Choice[] =>
  rows.map(({ id, title, status }) => ({ value: id, name: title, ...about(status) }))

const lists = async ({ work }: Context) => {
  const { listLists } = await import('../contacts/contacts.ts')
  return byName(await work(listLists), ({ rowCount }) => quantity(rowCount, 'contact'))
}

const segments = async ({ work }: Context) => {
  const { listSegments } = await import('../segments/segments.ts')
  return byName(await work(listSegments), ({ where }) => where)
}

const topics = async ({ work }: Context) => {
  const { listTopics } = await import('../suppressions/suppressions.ts')
  return byName(await work(listTopics), ({ description }) => description)
}

const projects = async ({ work }: Context) => {
  const { listProjects } = await import('../studio/studio.ts')
  return byName(await work(listProjects), () => undefined)
}

const journeys = async ({ work }: Context) => {
  const { listJourneys } = await import('../journeys/journeys.ts')
  return byName(await work(listJourneys), ({ triggerKind, enabled }) => `${triggerKind}${enabled ? '' : ', disabled'}`)
}

/** Returns runs that have not ended, of all journeys. */
const runs = async ({ work }: Context) => {
  const { listOpenRuns } = await import('../journeys/journeys.ts')
  const rows = await work((w) => listOpenRuns(w, newest))
  return rows.map(({ id, email, journey, status }) => ({ value: id, name: email, about: `${journey}, ${status}` }))
}

const forms = async ({ work }: Context) => {
  const { listForms } = await import('../forms/forms.ts')
  return byName(await work(listForms), () => undefined)
}

const pipelines = async ({ work }: Context) => {
  const { listPipelines } = await import('../deals/deals.ts')
  return byName(await work(listPipelines), ({ isDefault }) => (isDefault ? 'the default one' : undefined))
}

/** Returns the pipelines of deals. Throws Problem `not_found` if there are none of these ids. */
const pipelinesOf = async ({ work }: Context, deals: readonly string[]): Promise<Set<string>> => {
  const { showDeal } = await import('../deals/deals.ts')
  const found = new Set<string>()
  let failure: unknown
  for (const id of deals) {
    try {
      found.add((await work((w) => showDeal(w, id))).pipelineId)
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      failure ??= error
    }
  }
  if (found.size === 0) throw failure
  return found
}

/** Returns the stages of the given pipeline or of the pipelines of the given deals, else of all pipelines. */
const stages = async (context: Context, given: Given) => {
  const { listPipelines } = await import('../deals/deals.ts')
  const all = await context.work(listPipelines)
  const named = [...given('--pipeline'), ...given('<pipeline>')]
  const moved = [...given('<ids>'), ...given('<id>')]
  const ids = moved.length > 0 ? await pipelinesOf(context, moved) : undefined
  const pipelines = all.filter(({ id, name }) =>
    named.length > 0 ? named.includes(id) || named.includes(name) : (ids?.has(id) ?? true),
  )
  const rows = pipelines.flatMap(({ name: pipeline, stages }) => stages.map((stage) => ({ ...stage, pipeline })))
  const aboutKind = ({ kind }: (typeof rows)[number]) => (kind === 'open' ? undefined : kind)
  if (pipelines.length === 1) return byName(rows, aboutKind)
  // A command looks a name up in the pipeline of each deal.
  if (ids)
    return [...new Map(rows.map((row) => [row.name, row])).values()].map((row) => ({
      value: row.name,
      ...about(aboutKind(row)),
    }))
  return byName(rows, (row) => [row.pipeline, aboutKind(row)].filter(Boolean).join(', '))
}

const deals = async ({ work }: Context) => {
  const { listDeals } = await import('../deals/deals.ts')
  const { rows } = await work((w) => listDeals(w, {}, newest))
  return rows.map(({ id, title, stage, email }) => ({ value: id, name: title, about: `${stage}, ${email}` }))
}

const webinars = async ({ work }: Context) => {
  const { listWebinars } = await import('../webinars/webinars.ts')
  return titled(await work((w) => listWebinars(w)))
}

const courses = async ({ work }: Context) => {
  const { listCourses } = await import('../courses/courses.ts')
  return titled(await work(listCourses))
}

const registrations = async ({ app, work }: Context, given: Given) => {
  const { findWebinar, listRegistrations } = await import('../webinars/webinars.ts')
  const [webinar] = given('<webinar>')
  if (webinar === undefined) return []
  const rows = await work(async (w) => listRegistrations(app, w, (await findWebinar(w, webinar)).id))
  return rows.map(({ id, email, name, status }) => ({ value: id, name: name || email, about: `${email}, ${status}` }))
}

/** Returns the lessons of the given course, else of all courses. */
const lessons = async ({ work }: Context, given: Given) => {
  const { findCourseNamed, lessonsOf, listLessons } = await import('../courses/courses.ts')
  const [course] = given('<course>')
  if (course !== undefined) return titled(await work(async (w) => lessonsOf(w, (await findCourseNamed(w, course)).id)))
  return (await work(listLessons)).map(({ id, title, course }) => ({ value: id, name: title, about: course }))
}

const sends = async ({ work }: Context) => {
  const { listSends } = await import('../messages/messages.ts')
  const { rows } = await work((w) => listSends(w, { status: null, email: null }, newest))
  return rows.map(({ id, to, subject, status }) => ({ value: id, name: to, about: `${subject}, ${status}` }))
}

const events = async ({ out, work }: Context) => {
  const { listEvents } = await import('../deliveries/deliveries.ts')
  const { rows } = await work((w) => listEvents(w, {}, newest))
  return rows.map(({ id, type, createdAt }) => ({ value: id, name: type, about: out.time(createdAt) }))
}

const deliveries = async ({ out, work }: Context) => {
  const { listDeliveries } = await import('../deliveries/deliveries.find.ts')
  const { rows } = await work((w) => listDeliveries(w, {}, newest))
  return rows.map(({ id, type, status, createdAt }) => ({
    value: id,
    name: type,
    about: `${status}, ${out.time(createdAt)}`,
  }))
}

const bookings = async ({ out, work }: Context) => {
  const { listBookings } = await import('../bookings/bookings.ts')
  const { rows } = await work((w) => listBookings(w, { status: null, email: null }, newest))
  return rows.map(({ id, title, status, startAt, attendee }) => ({
    value: id,
    name: title,
    about: `${attendee.email}, ${status}, ${out.time(startAt)}`,
  }))
}

const payments = async ({ work }: Context) => {
  const { listPayments } = await import('../checkout/checkout.ts')
  const { rows } = await work((w) => listPayments(w, { status: null }, newest))
  return rows.map(({ id, email, status, amount, currency }) => ({
    value: id,
    name: email || id,
    about: `${moneyText({ amount, currency })}, ${status}`,
  }))
}

/** Returns the data folder of `svc dev`, and the ids of the emails that it caught, newest first. */
const caughtMail = async () => {
  const { caughtIds } = await import('./catcher/catcher.ts')
  const { dataDirOf } = await import('../app/config.ts')
  const { actAsOwner } = await import('../embedded/folder.ts')
  const dataDir = dataDirOf(process.env)
  actAsOwner(dataDir)
  return { dataDir, ids: caughtIds(dataDir).reverse() }
}

const caughtEmails = async () => {
  const [{ parseMail, readCaught, viewOf }, { dataDir, ids }] = await Promise.all([
    import('./catcher/catcher.ts'),
    caughtMail(),
  ])
  const mails = ids.slice(0, newest.limit).flatMap((id) => readCaught(dataDir, id) ?? [])
  const views = await Promise.all(mails.map(async (mail) => viewOf(mail, await parseMail(mail))))
  return views.map(({ id, to, subject }) => ({ value: id, name: subject || id, about: to }))
}

const webhooks = async ({ work }: Context) => {
  const { listWebhooks } = await import('../webhooks/webhooks.ts')
  return (await work(listWebhooks)).map(({ id, url, status }) => ({ value: id, name: url, about: status }))
}

const keys = async ({ work }: Context) => {
  const { listKeys } = await import('../accounts/accounts.ts')
  const held = (await work(listKeys)).filter(({ revokedAt }) => !revokedAt)
  return held.map(({ id, name, prefix, lastFour }) => ({ value: id, name, about: `${prefix}…${lastFour}` }))
}

const broadcasts = async ({ work }: Context) => {
  const { listBroadcasts } = await import('../broadcasts/broadcasts.ts')
  const { rows } = await work((w) => listBroadcasts(w, newest))
  return rows.map(({ id, name, status }) => ({ value: id, name, about: status }))
}

const imports = async ({ work }: Context) => {
  const { listImports } = await import('../contacts/contacts.ts')
  const { rows } = await work((w) => listImports(w, newest))
  return rows.map(({ id, file, status, rows: done }) => ({
    value: id,
    name: file,
    about: `${status}, ${quantity(done, 'row')}`,
  }))
}

const senders = async ({ work }: Context) => {
  const { listSenders } = await import('../senders/senders.ts')
  return (await work(listSenders)).map(({ email, name }) => ({ value: email, about: name }))
}

const domains = async ({ app, work }: Context) => {
  const { listDomains } = await import('../senders/senders.ts')
  return (await work((w) => listDomains(app, w))).map(({ domain, status }) => ({ value: domain, about: status }))
}

const plans = async ({ operate }: Context) => {
  const { listPlans } = await import('../accounts/accounts.ts')
  return (await operate(listPlans)).map(({ name, contacts, sends }) => ({
    value: name,
    about: [
      contacts === null ? 'contacts without limit' : quantity(contacts, 'contact'),
      sends && `${quantity(sends, 'email')} a month`,
    ]
      .filter(Boolean)
      .join(', '),
  }))
}

const accounts = async ({ operate }: Context) => {
  const { listAccounts } = await import('../accounts/accounts.ts')
  return byName(await operate(listAccounts), ({ plan }) => plan)
}

/** Returns the subjects of lifecycle emails: `course:<id>`, `webinar:<id>`. */
const subjects = async (context: Context) => {
  const of = (kind: string, rows: readonly Choice[]) =>
    rows.map(({ value, name }) => ({ value: `${kind}:${value}`, name: `${kind} ${name}` }))
  return [...of('course', await courses(context)), ...of('webinar', await webinars(context))]
}

/** Returns the subject whose id ends as that of `course:4k2mzp`. */
const findSubject = async (context: Context, subject: string) => {
  const [kind, end] = subject.split(':')
  if (end === undefined || (kind !== 'course' && kind !== 'webinar')) return undefined
  const id = await findIdByEnd(context, `${kind}s`, end)
  return id && `${kind}:${id}`
}

const findCaught = async (_: Context, end: string) =>
  onlyId(
    'caught emails',
    end,
    (await caughtMail()).ids.filter((id) => id.endsWith(end)),
  )

const loaders = {
  accounts,
  bookings,
  broadcasts,
  'caught emails': caughtEmails,
  courses,
  'courses or webinars': subjects,
  deals,
  deliveries,
  domains,
  events,
  forms,
  imports,
  journeys,
  keys,
  lessons,
  lists,
  payments,
  pipelines,
  plans,
  projects,
  registrations,
  runs,
  segments,
  senders,
  sends,
  stages,
  topics,
  webhooks,
  webinars,
} satisfies Readonly<Record<string, Choices['load']>>

type Noun = keyof typeof loaders

const isNoun = (word: string): word is Noun => Object.hasOwn(loaders, word)

/**
 * Returns what the values of a flag or an argument are ids or names of: `lists` for `--exclude-list`, `stages` for `--to <stage>`,
 * and for `<id>` the noun of the command.
 */
const nounOf = (command: string, place: string, { noun, value }: ReturnType<typeof placeAt>) => {
  if (noun !== undefined) return noun
  const own = command.split(' ')[0]!
  if (/^<(ids?|id\|email)>$/.test(place)) return isNoun(own) ? own : null
  // A switch has no value.
  if (place.startsWith('--') && value === undefined) return null
  return [place, value].map((text = '') => `${text.split(/\W+/).findLast(Boolean)}s`).find(isNoun)
}

/** Returns how values of a noun are found by the end of an id. */
const finderOf = (noun: string): Pick<Choices, 'findByEnd'> => {
  if (noun === 'courses or webinars') return { findByEnd: findSubject }
  if (noun === 'caught emails') return { findByEnd: findCaught }
  return hasIds(noun) ? { findByEnd: (context, end) => findIdByEnd(context, noun, end) } : {}
}

/** Returns the choices of a flag or an argument, or undefined if it takes any text. */
export const choicesOf: ChoicesOf = (command, place) => {
  // The question for the account belongs to no command.
  const found = placeAt(command, place)
  const noun = nounOf(command, place, found)
  // An address is easier to choose than the id of its row, so nothing is offered and asked for.
  if (noun === 'rows') return { load: async () => [], ...finderOf(noun) }
  if (noun) return { load: loaders[noun as Noun], ...finderOf(noun), ...(!found.mayBeNew && { noun }) }
  const closed = closedSetAt(command, place)
  return closed && { load: async () => (await closed.load()).map((value) => ({ value })), isMany: closed.isMany }
}
