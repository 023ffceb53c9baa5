import { daysBefore } from '../lib/days.ts'
import { Problem } from '../lib/problem.ts'
import { defineJob, inBatches, type Sweep } from '../store/background.ts'
import { type RowOf, typed } from '../store/column-types.ts'
import type { Sql } from '../store/database.ts'
import { statement } from '../store/statement.ts'
import type { App } from '../store/work.ts'
import { linkFields, loadVersion } from '../studio/studio.ts'

/*
 * The content of a message is deleted some time after it ended. Its record stays with its idempotency key. The merge fields that
 * its links use stay too, so that links in old emails keep working.
 */

const oldContent = {
  accountId: 'text',
  id: 'text',
  projectId: 'text?',
  projectVersion: 'int4?',
  createdAt: 'text',
} as const
type OldContent = RowOf<typeof oldContent>

/** Each page continues after the last row of the previous one, so that pending messages are read once in a run, not once a page. */
const findContents = statement(
  'find-old-contents',
  {
    row: oldContent,
    parameters: {
      before: 'timestamptz',
      createdAt: typed<string>('timestamptz'),
      id: 'text',
      batchSize: 'int8',
      only: 'text?',
    },
  },
  `select account_id as "accountId", id, project_id as "projectId", project_version as "projectVersion",
     created_at::text as "createdAt"
   from messages where dropped_at is null and created_at < :before and (created_at, id) > (:createdAt::timestamptz, :id)
     and (:only::text is null or account_id = :only)
   order by created_at, id limit :batchSize`,
)

const dropFound = statement(
  'drop-contents',
  {
    row: { id: 'text' },
    parameters: { accountIds: '_text', ids: '_text', kept: '_text', before: 'timestamptz', now: 'timestamptz' },
  },
  `with old as materialized (
     select m.row, p.account, p.id, p.kept from unnest(:accountIds::text[], :ids::text[], :kept::text[]) as p(account, id, kept)
     cross join lateral (
       select ctid as row from messages
       where account_id = p.account and id = p.id and dropped_at is null and finished_at < :before
         and (copy is distinct from 'to' or not exists (
           select from messages c join message_queue q on q.account_id = c.account_id and q.id = c.id
           where c.account_id = p.account and c.copy_of = p.id
         )) for update skip locked
     ) m
   ), unattached as (
     delete from message_attachments a using old where a.account_id = old.account and a.message_id = old.id
   )
   update messages m set html = null, text = null, calendar = null, headers = null, dropped_at = :now, merge_data = case
       when m.merge_data is not null then (
         select coalesce(jsonb_object_agg(f.key, f.value), '{}') from jsonb_each(m.merge_data) f where old.kept::jsonb ? f.key
       )
     end
   from old where m.ctid = old.row returning m.id`,
)

/** Returns the merge fields to keep: those of links. A deleted version has none, because its links lead nowhere. */
const keptFields = async (sql: Sql, { accountId, projectId, projectVersion }: OldContent): Promise<string[]> => {
  if (projectId === null || projectVersion === null) return []
  try {
    return await linkFields(await loadVersion({ sql, accountId }, projectId, projectVersion))
  } catch (error) {
    if (error instanceof Problem && error.kind === 'not_found') return []
    throw error
  }
}

/**
 * Deletes the content of messages that ended before `before`: html, text, calendar entry, headers that the caller added, and the merge data
 * that no link needs.
 * Works in batches, with pauses, until no message is left or `signal` is aborted. Returns the number of messages changed.
 */
export const dropContents = async (
  { sql, now }: Pick<App, 'sql' | 'now'>,
  before: Date,
  { signal, batchSize = 200, only = null }: Sweep = {},
): Promise<number> => {
  let last = { createdAt: '-infinity', id: '' }
  let total = 0
  const batch = async (): Promise<number> => {
    const page = await sql(findContents, { before, createdAt: last.createdAt, id: last.id, batchSize, only })
    if (page.length === 0) return 0
    last = page.at(-1)!
    const kept: string[] = []
    for (const row of page) kept.push(JSON.stringify(await keptFields(sql, row)))
    const found = { accountIds: page.map(({ accountId }) => accountId), ids: page.map(({ id }) => id) }
    total += (await sql(dropFound, { ...found, kept, before, now: now() })).length
    return page.length
  }
  await inBatches(batchSize, batch, signal)
  return total
}

export const jobs = [
  defineJob('message contents', {
    does: 'Deletes the content of ended messages after SVC_MESSAGE_RETENTION_DAYS',
    async runFor(app, sweep) {
      const { messageRetentionDays } = app.config
      if (messageRetentionDays === 0) return
      await dropContents(app, daysBefore(app.now(), messageRetentionDays), sweep)
    },
  }),
]
