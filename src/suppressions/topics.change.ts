import { z } from 'zod'
import { lockAccount } from '../accounts/accounts.ts'
import { newId } from '../lib/ids.ts'
import { conflict, Problem, shown } from '../lib/problem.ts'
import { quantity } from '../lib/quantity.ts'
import { oneLine } from '../lib/strings.ts'
import { text } from '../lib/text.ts'
import { defineJob, type Sweep } from '../store/background.ts'
import { statement } from '../store/statement.ts'
import { columns } from '../store/tables.ts'
import type { App, Work } from '../store/work.ts'
import { topics } from './suppressions.columns.ts'
import { findTopic, listTopics, type TopicView } from './topics.find.ts'

/** The preference page lists all of them. */
export const topicsMax = 50
export const nameMaxLength = 100
const descriptionMaxLength = 500

const line = (maxLength: number) => text(maxLength).transform((value) => oneLine(value, maxLength))

const changeable = {
  name: line(nameMaxLength).pipe(z.string().min(1, 'is required')),
  description: line(descriptionMaxLength),
}
const changeableColumns = columns(topics, Object.keys(changeable) as (keyof typeof changeable)[])

export const NewTopic = z.object({ ...changeable, description: changeable.description.default('') })
export const TopicChange = z.object(changeable).partial()

const entitiesOf = (work: Work) => work.em(import('./suppressions.entities.ts'))

const adoptLeft = statement(
  'adopt-left-of-deleted-topics',
  { parameters: { accountId: 'text', topicId: 'text', name: 'text' } },
  `with former as materialized (
     select id from topics where account_id = :accountId and name = :name and deleted_at is not null and id <> :topicId
   ), moved as (
     delete from suppressions where account_id = :accountId and topic_id in (select id from former) returning email, reason, created_at
   )
   insert into suppressions (account_id, email, reason, topic_id, created_at)
   select :accountId, email, reason, :topicId, min(created_at) from moved group by email, reason order by email, reason
   on conflict do nothing`,
)

/**
 * Creates a topic. People who left a deleted topic of that name have left it too. Throws Problem `conflict` if its name
 * is taken, `limited` if the account has `topicsMax`.
 */
export const createTopic = async (work: Work, input: z.output<typeof NewTopic>): Promise<TopicView> => {
  const { accountId, now } = work
  // The second of two concurrent calls then sees the first one's topic.
  await lockAccount(work)
  const others = await listTopics(work)
  if (others.some(({ name }) => name === input.name))
    throw conflict(`There is already a topic named ${shown(input.name)}`, { hint: 'svc topics list' })
  if (others.length >= topicsMax)
    throw new Problem('limited', `An account can have ${topicsMax} topics`, { hint: 'svc topics delete <topic>' })
  const topic = { id: newId('top', now.getTime()), ...input }
  const [em, { Topic }] = await entitiesOf(work)
  em.create(Topic, { ...topic, accountId, createdAt: now })
  await em.flush()
  await work.sql(adoptLeft, { accountId, topicId: topic.id, name: topic.name })
  return { ...topic, createdAt: now.getTime() }
}

/** Changes the name or the description of a topic (id or name). Throws Problem `not_found`, `conflict` if the name is taken. */
export const updateTopic = async (
  work: Work,
  ref: string,
  change: z.output<typeof TopicChange>,
): Promise<TopicView> => {
  await lockAccount(work)
  const topic = await findTopic(work, ref)
  const after = changeableColumns.after(topic, change)
  const isTaken = (await listTopics(work)).some(({ name, id }) => name === after.name && id !== topic.id)
  if (isTaken) throw conflict(`There is already a topic named ${shown(after.name)}`, { hint: 'svc topics list' })
  const [em, { Topic }] = await entitiesOf(work)
  await em.nativeUpdate(Topic, { id: topic.id }, after)
  await work.sql(adoptLeft, { accountId: work.accountId, topicId: topic.id, name: after.name })
  return { ...topic, ...after }
}

const lockToDelete = statement(
  'lock-topic',
  { parameters: { accountId: 'text', id: 'text' } },
  'select from topics where account_id = :accountId and id = :id and deleted_at is null for update',
)

const countLeft = statement(
  'count-left-topic',
  { row: { left: 'int8' }, parameters: { accountId: 'text', id: 'text' } },
  'select count(*) as left from suppressions where account_id = :accountId and topic_id = :id',
)

/**
 * Deletes a topic (id or name). Returns it, and how many addresses had left it; they will have left a later topic of
 * its name too. Throws Problem `not_found`, or `conflict` while an unsent broadcast uses it.
 */
export const deleteTopic = async (work: Work, ref: string): Promise<TopicView & { left: number }> => {
  const { sql, accountId, now } = work
  const found = await findTopic(work, ref)
  await sql(lockToDelete, { accountId, id: found.id })
  const topic = await findTopic(work, found.id)
  for (const listener of await work.listeners()) {
    const { broadcasts = 0 } = (await listener.topicUses?.(work, topic.id)) ?? {}
    if (broadcasts > 0)
      throw conflict(`${quantity(broadcasts, 'unsent broadcast')} will use the topic ${shown(topic.name)}`, {
        hint: 'svc broadcasts list',
      })
  }
  const [row] = await sql(countLeft, { accountId, id: topic.id })
  const [em, { Topic }] = await entitiesOf(work)
  await em.nativeUpdate(Topic, { id: topic.id }, { deletedAt: now })
  return { ...topic, left: row!.left }
}

const deleteTopics = statement(
  'delete-deleted-topics',
  { parameters: { before: 'timestamptz', only: 'text?' } },
  `delete from topics t where deleted_at < :before and (:only::text is null or account_id = :only) and not exists (
     select from suppressions where account_id = t.account_id and topic_id = t.id and topic_id <> ''
   )`,
)

/**
 * Deletes the rows of topics that were deleted before `before`, except those that people have left: a later topic of
 * the name takes these over. By then no transaction still inserts a message of such a topic.
 */
export const purgeTopics = async (
  { sql }: Pick<App, 'sql'>,
  before: Date,
  { only = null }: Sweep = {},
): Promise<void> => {
  await sql(deleteTopics, { before, only })
}

/** No transaction that still knew a topic lasts this long after its deletion. */
const purgeDelayMs = 3_600_000

export const jobs = [
  defineJob('topic deletions', {
    does: 'Deletes the records of who left a topic, an hour after its deletion',
    runFor: (app, sweep) => purgeTopics(app, new Date(app.now().getTime() - purgeDelayMs), sweep),
  }),
]
