import { quotaLeft } from '../accounts/accounts.ts'
import { findList } from '../contacts/contacts.ts'
import { conflict } from '../lib/problem.ts'
import { findSegment } from '../segments/segments.ts'
import { statement } from '../store/statement.ts'
import { columns } from '../store/tables.ts'
import type { App, Work } from '../store/work.ts'
import { findTopic } from '../suppressions/suppressions.ts'
import { audienceColumns, audienceOf, countAudience, isOneList } from './broadcasts.audience.ts'
import { lockBroadcast, setBroadcast } from './broadcasts.change.ts'
import { broadcasts } from './broadcasts.columns.ts'
import type { Audience, Letter, Variants } from './broadcasts.entities.ts'
import { showBroadcast } from './broadcasts.find.ts'
import { choiceColumns, composeLetter } from './broadcasts.letter.ts'
import { broadcastsChannel } from './broadcasts.loop.ts'
import type { BroadcastView } from './broadcasts.shapes.ts'

const audienceProperties = [
  'listId',
  'segmentId',
  'where',
  'all',
  'listIds',
  'segmentIds',
  'excludeListIds',
  'excludeSegmentIds',
] as const
type AudienceProperty = (typeof audienceProperties)[number]

/** What sending a broadcast now would do. */
export interface Plan extends Letter, Pick<BroadcastView, AudienceProperty> {
  id: string
  /** The recipients in words: `the list People that meet the filter`. */
  audience: string
  /** The name of the list, if there is only one. */
  listName?: string
  projectId: string
  topicId?: string
  topicName?: string
  /** The version of the project that was tested last. It is null if there is none. */
  testedVersion: number | null
  /** It is null if it begins at once, also if its time has passed. */
  at: Date | null
  /** The maximum messages per minute. It is null if there is none. */
  rate: number | null
  /** Which recipients get one of several subjects first, and which one the rest gets. It is null if all get one of them. */
  contest: Variants['contest']
  /** The active contacts of the list that the filter matches now. */
  recipients: number
  /** How many of them would get an email; the others are suppressed. */
  mails: number
  suppressed: number
}

const draftColumns = columns(broadcasts, [...choiceColumns, ...audienceColumns, 'testedVersion'])

const readDraft = statement(
  'read-draft-of-broadcast',
  {
    row: { ...draftColumns.types, at: 'timestamptz?' },
    parameters: { accountId: 'text', id: 'text', now: 'timestamptz' },
  },
  `select ${draftColumns.list}, case when scheduled_at > :now then scheduled_at end as at from broadcasts
   where account_id = :accountId and id = :id`,
)

/**
 * Returns what sending a draft would do. Throws Problem `not_found` for the broadcast, its list or its project, `conflict` if it is no
 * draft, or if the quota of sends is too small in the month in which it begins; `invalid` if the account can't send.
 */
export const planBroadcast = async (app: App, work: Work, ref: string): Promise<Plan> => {
  const { sql, accountId, now } = work
  const { id, status, ...refs } = await showBroadcast(work, ref)
  if (status !== 'draft') throw conflict(`The broadcast ${id} is ${status}: only a draft can be sent`)
  const topic = refs.topicId === undefined ? null : await findTopic(work, refs.topicId)
  const [row] = await sql(readDraft, { accountId, id, now })
  const { testedVersion, at, projectId } = row!
  const recipientsOf = audienceOf(row!)
  const audience = await wordsOf(work, recipientsOf)
  const letter = await composeLetter(app, work, row!)
  const { recipients, suppressed } = await countAudience(work, recipientsOf, topic?.id ?? null)
  const mails = recipients - suppressed
  const left = await quotaLeft(work, 'sends', at ?? now)
  if (left !== null && mails > left) {
    const number = (count: number) => count.toLocaleString('en')
    throw conflict(
      `The broadcast has ${number(mails)} recipients, and the month’s send volume has ${number(left)} left`,
      { hint: 'svc accounts usage' },
    )
  }
  return {
    id,
    audience: audience.words,
    ...(audience.listName !== undefined && { listName: audience.listName }),
    ...(Object.fromEntries(
      audienceProperties.flatMap((name) => (refs[name] === undefined ? [] : [[name, refs[name]]])),
    ) as Pick<BroadcastView, AudienceProperty>),
    projectId,
    ...(topic && { topicId: topic.id, topicName: topic.name }),
    ...letter,
    testedVersion,
    at,
    rate: refs.rate,
    contest: row!.variants?.contest ?? null,
    recipients,
    mails,
    suppressed,
  }
}

/** Describes an audience. Throws Problem `not_found` for a list or a segment that was deleted. */
const wordsOf = async (work: Work, audience: Audience): Promise<{ words: string; listName?: string }> => {
  const { isAll, parts, without } = audience
  const nameOf = async ({ listId, segmentId }: Audience['parts'][number]) =>
    segmentId === null
      ? `the list ${(await findList(work, listId)).name}`
      : `the segment ${(await findSegment(work, segmentId)).name}`
  const named = async (of: Audience['parts']) => {
    const names: string[] = []
    for (const part of of) names.push(await nameOf(part))
    return names.length > 1 ? `${names.slice(0, -1).join(', ')} and ${names.at(-1)}` : names[0]
  }
  const excluded = without.length > 0 ? `, without ${await named(without)}` : ''
  if (isAll) return { words: `all lists${excluded}` }
  const filtered = parts.some(({ segmentId, where }) => segmentId === null && where !== null)
  const words = `${await named(parts)}${filtered ? ' that meet the filter' : ''}${excluded}`
  return isOneList(audience) ? { words, listName: (await findList(work, parts[0]!.listId)).name } : { words }
}

/**
 * Sends a draft: it begins at its time, or with the next step (`advanceBroadcast`). If several calls race, exactly one sends it.
 * Throws Problem `not_found` for the broadcast, its list or its project, `conflict` if it is no draft or the quota of sends of the month
 * in which it begins is too small, `invalid` if the account can't send.
 */
export const sendBroadcast = async (app: App, work: Work, ref: string): Promise<BroadcastView> => {
  const { id } = await lockBroadcast(work, ref)
  const { recipients, projectVersion, subject, subjects, from, replyTo } = await planBroadcast(app, work, id)
  const letter: Letter = { projectVersion, subject, ...(subjects && { subjects }), from, replyTo }
  await setBroadcast(work, id, { status: 'scheduled', recipients, letter })
  work.announce(broadcastsChannel)
  return showBroadcast(work, id)
}
