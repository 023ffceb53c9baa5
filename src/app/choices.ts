import type { Choice } from '../cli/ask.ts'
import type { Choices, ChoicesOf } from '../cli/choices.ts'
import type { Context } from '../cli/command.ts'
import { quantity } from '../lib/quantity.ts'
import { closedValues } from './closed-values.ts'

/*
 * The values of flags and arguments, for questions on a terminal and for suggestions after a mistyped value. Flags and
 * arguments of one name have the same choices in every command; an `<id>` has the choices of its noun.
 */

/** Offers the newest entries of lists of unbounded length. */
const newest = { limit: 200 }

interface Named {
  id: string
  name: string
}

/** Returns choices by name, or by id if several rows share the name. */
const byName = <Row extends Named>(rows: readonly Row[], about: (row: Row) => string | undefined): Choice[] =>
  rows.map((row) => {
    const isOnly = rows.filter(({ name }) => name === row.name).length === 1
    const text = about(row)
    return { value: isOnly ? row.name : row.id, name: row.name, ...(text && { about: text }) }
  })

const titled = (rows: readonly { id: string; title: string; status?: string }[]): Choice[] =>
  rows.map(({ id, title, status }) => ({ value: id, name: title, ...(status && { about: status }) }))

const lists = async ({ work }: Context) => {
  const { listLists } = await import('../contacts/contacts.ts')
  return byName(await work(listLists), ({ rowCount }) => quantity(rowCount, 'contact'))
}

const segments = async ({ work }: Context) => {
  const { listSegments } = await import('../segments/segments.ts')
  return byName(await work(listSegments), ({ where }) => where)
}

const topics = async ({ work }: Context) => {
  const { listTopics } = await import('../messages/messages.ts')
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

/** Returns the stages of all pipelines. A command looks the name up in the deal's pipeline. */
const stages = async ({ work }: Context) => {
  const { listPipelines } = await import('../deals/deals.ts')
  const all = (await work(listPipelines)).flatMap((pipeline) => pipeline.stages)
  const kinds = new Map(all.map(({ name, kind }) => [name, kind]))
  return [...kinds].map(([value, kind]) => ({ value, ...(kind !== 'open' && { about: kind }) }))
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

/** Returns the lessons of all courses, since a choice does not know the course. */
const lessons = async ({ work }: Context) => {
  const { listLessons } = await import('../courses/courses.ts')
  return (await work(listLessons)).map(({ id, title, course }) => ({ value: id, name: title, about: course }))
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
  const { listImports } = await import('../contacts/imports/imports.ts')
  const { rows } = await work((w) => listImports(w, newest))
  return rows.map(({ id, file, status, rows: done }) => ({ value: id, name: file, about: `${status}, ${done} rows` }))
}

const senders = async ({ work }: Context) => {
  const { listSenders } = await import('../messages/messages.ts')
  return (await work(listSenders)).map(({ email, name }) => ({ value: email, about: name }))
}

const domains = async ({ app, work }: Context) => {
  const { listDomains } = await import('../messages/messages.ts')
  return (await work((w) => listDomains(app, w))).map(({ domain, status }) => ({ value: domain, about: status }))
}

const plans = async ({ operate }: Context) => {
  const { listPlans } = await import('../accounts/accounts.ts')
  return (await operate(listPlans)).map(({ name, contacts, sends }) => ({
    value: name,
    about: [
      `${contacts?.toLocaleString('en') ?? 'any number of'} contacts`,
      sends && `${sends.toLocaleString('en')} emails a month`,
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

const loaders = {
  accounts,
  broadcasts,
  courses,
  'courses or webinars': subjects,
  deals,
  domains,
  forms,
  imports,
  journeys,
  keys,
  lessons,
  lists,
  pipelines,
  plans,
  projects,
  runs,
  segments,
  senders,
  stages,
  topics,
  webhooks,
  webinars,
} satisfies Readonly<Record<string, Choices['load']>>

type Noun = keyof typeof loaders

const byPlace: Readonly<Record<string, Noun>> = {
  '--course': 'courses',
  '--list': 'lists',
  '--pipeline': 'pipelines',
  '--plan': 'plans',
  '--project': 'projects',
  '--segment': 'segments',
  '--stage': 'stages',
  '--topic': 'topics',
  '--webhook': 'webhooks',
  '<account>': 'accounts',
  '<course>': 'courses',
  '<domain>': 'domains',
  '<form>': 'forms',
  '<journey>': 'journeys',
  '<lesson>': 'lessons',
  '<list>': 'lists',
  '<pipeline>': 'pipelines',
  '<plan>': 'plans',
  '<project>': 'projects',
  '<run>': 'runs',
  '<segment>': 'segments',
  '<stage>': 'stages',
  '<topic>': 'topics',
  '<webinar>': 'webinars',
  'bindings set <subject>': 'courses or webinars',
  'bindings unset <subject>': 'courses or webinars',
  'courses lessons move --before': 'lessons',
  'deals move --to': 'stages',
}

const several = ['webhooks create --events', 'webhooks update --events', 'listen --events']

/** Places that take a new name. */
const mayBeNew = /^(domains add <domain>|pipelines create --stage)$/
/** Places that take a new name as well as a known one. */
const mayBeCreated = /^contacts import --list$/

const nounOf = (command: string, place: string): Noun | undefined => {
  const own = command.split(' ')[0]!
  const isId = /^<(ids?|id\|email)>$/.test(place)
  return byPlace[`${command} ${place}`] ?? byPlace[place] ?? (isId && own in loaders ? (own as Noun) : undefined)
}

/** Returns the choices of a flag or an argument; undefined if it takes any text. */
export const choicesOf: ChoicesOf = (command, place) => {
  const key = `${command} ${place}`
  if (mayBeNew.test(key)) return undefined
  const noun = nounOf(command, place)
  if (noun) return { load: loaders[noun], ...(!mayBeCreated.test(key) && { noun }) }
  const closed = closedValues[key]
  return closed && { load: async () => closed.map((value) => ({ value })), isMany: several.includes(key) }
}
