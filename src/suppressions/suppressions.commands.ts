import { createWriteStream } from 'node:fs'
import { resolve } from 'node:path'
import { finished } from 'node:stream/promises'
import type { Context } from '../cli/command.ts'
import { type CommandList, command } from '../cli/define.ts'
import { absent, argument, changing, confirmed, paged, present, text, unasked } from '../cli/flags.ts'
import { parse } from '../cli/input.ts'
import { type Column, properties } from '../cli/output.ts'
import { csvLine } from '../lib/csv.ts'
import { Problem, shown } from '../lib/problem.ts'
import type { SuppressionView } from './suppressions.read.ts'
import type { TopicView } from './topics.find.ts'

const columns: Column<SuppressionView>[] = [
  ...properties<SuppressionView>('email', 'reason', 'topic'),
  ['SINCE', (suppression) => new Date(suppression.createdAt)],
]

/** Describes flags that only mean something for contacts: scripts can pass the same flags to both imports. */
const unused = 'accepted as by svc contacts import, but has no effect'

const reasons = 'complained, bounced, manual or unsubscribed'
const allReasons = async () => (await import('./suppressions.add.ts')).suppressionReasons
/** Those of contacts/imports/vendors.ts. */
const products = 'mailchimp, hubspot, brevo, listmonk, resend or plunk'

const parseReason = async (text: string) => {
  const { SuppressionReasonShape } = await import('./suppressions.ts')
  return parse(SuppressionReasonShape, text, 'reason')
}

/** Throws Problem `usage` for a reason that a topic excludes. */
const requireUnsubscribed = async (reason: string | undefined): Promise<void> => {
  if (reason !== undefined && (await parseReason(reason)) !== 'unsubscribed')
    throw new Problem('usage', '--topic implies --reason unsubscribed')
}

const topicOf = async (work: Context['work'], ref: string | undefined): Promise<TopicView | null> => {
  if (ref === undefined) return null
  const { findTopic } = await import('./suppressions.ts')
  return work((w) => findTopic(w, ref))
}

const parseAddress = async (text: string): Promise<string> => {
  const { emailAddress } = await import('../lib/address.ts')
  return parse(emailAddress(), text, 'email')
}

/** The commands `svc suppressions`. */
export const commands: CommandList = [
  command({
    path: 'suppressions list',
    isDefault: true,
    summary: 'List suppressed addresses',
    examples: [
      'svc suppressions --reason bounced',
      'svc suppressions list --email ada@example.com',
      'svc suppressions list --topic Newsletter --json',
    ],
    flags: {
      reason: text('<reason>', `only this reason: ${reasons}`, { of: allReasons }),
      topic: text('<id|name>', 'only addresses that left this topic'),
      email: text('<email>', 'only this address'),
      ...paged,
    },
    run: async ({ pages, work }, flags) => {
      const { listSuppressions } = await import('./suppressions.ts')
      const topic = await topicOf(work, flags.topic)
      const filter = {
        reason: flags.reason === undefined ? null : await parseReason(flags.reason),
        email: flags.email === undefined ? null : await parseAddress(flags.email),
        topicId: topic?.id ?? null,
      }
      await pages('suppressions', flags, (page) => work((w) => listSuppressions(w, filter, page)), columns)
    },
  }),

  command({
    path: 'suppressions add',
    summary: 'Suppress an address',
    examples: [
      'svc suppressions add ada@example.com',
      'svc suppressions add ada@example.com --reason unsubscribed',
      'svc suppressions add ada@example.com --topic Newsletter',
    ],
    arguments: [argument('<email>')],
    flags: {
      reason: text('<reason>', `${reasons} (default: manual); unsubscribed stops marketing only`, { of: allReasons }),
      topic: text('<id|name>', 'stop only marketing of this topic; the reason is unsubscribed'),
      ...changing(),
    },
    run: async ({ out, work }, text, { reason: given, topic: ref }) => {
      const email = await parseAddress(text)
      if (ref !== undefined) await requireUnsubscribed(given)
      const reason = ref === undefined ? await parseReason(given ?? 'manual') : 'unsubscribed'
      const { findTopic, leaveTopics, listSuppressions, suppressAddresses } = await import('./suppressions.ts')
      const suppression = await work(async (w) => {
        const topicId = ref === undefined ? '' : (await findTopic(w, ref)).id
        const added = await (topicId ? leaveTopics(w, [email], [topicId]) : suppressAddresses(w, [email], reason))
        const { rows } = await listSuppressions(w, { email, reason, topicId }, { limit: 1 })
        return { ...rows[0], added: added.length > 0 }
      })
      out.one(suppression)
    },
  }),

  command({
    path: 'suppressions remove',
    summary: 'Remove a suppression, so that the address gets email again',
    examples: [
      'svc suppressions remove ada@example.com --reason manual --yes',
      'svc suppressions remove ada@example.com --topic Newsletter --dry-run',
    ],
    arguments: [argument('<email>')],
    flags: {
      reason: text('<reason>', 'remove only this reason'),
      topic: text('<id|name>', 'only undo that it left this topic'),
      ...confirmed(),
    },
    run: async ({ out, work, confirm }, text, flags) => {
      const email = await parseAddress(text)
      const reason = flags.reason === undefined ? null : await parseReason(flags.reason)
      if (flags.topic !== undefined) await requireUnsubscribed(flags.reason)
      const topicId = (await topicOf(work, flags.topic))?.id ?? null
      const { listSuppressions } = await import('./suppressions.ts')
      const { removeSuppressions } = await import('./suppressions.add.ts')
      const { rows } = await work((w) => listSuppressions(w, { email, reason, topicId }, { limit: 100 }))
      if (rows.length === 0)
        throw new Problem('not_found', `${shown(email)} is not suppressed`, { hint: 'svc suppressions list' })
      const what = rows.map((row) => (row.topic === null ? row.reason : `${row.reason} from ${row.topic}`)).join(', ')
      const planned = { email, removed: rows.map((row) => row.reason) }
      if (!(await confirm(`send to ${email} again, although it was ${what}`, flags, planned))) return
      out.one({ email, removed: await work((w) => removeSuppressions(w, email, reason, topicId)) })
    },
  }),

  command({
    path: 'suppressions import',
    summary:
      'Suppress the addresses of a file: one per line, or a CSV as for svc contacts import, with columns reason and topic',
    examples: [
      'svc suppressions import blocked.csv',
      'svc suppressions import blocked.txt --reason complained --dry-run',
      'svc suppressions import cleaned_email_audience_export_1a2b3c.csv --from mailchimp',
    ],
    arguments: [argument('<file|->')],
    flags: {
      reason: text('<reason>', `for rows without one: ${reasons}`, { default: 'manual' }),
      map: text('<map>', 'map columns to email, reason and topic: "E-mail=email,Status=reason"', { default: '' }),
      encoding: text('<name>', 'encoding of the file, such as latin1', { default: 'utf-8' }),
      from: text('<product>', `read another product's export: ${products}; rows of people who get email are skipped`, {
        of: async () => (await import('../contacts/contacts.ts')).productNames(),
      }),
      assumeSubscribed: present('with --from, take a file that does not say who has opted out'),
      rejects: text('<file>', 'write rejected rows to this file: line, email, reason'),
      list: text('<id|name>', `${unused}: suppressions belong to the account`),
      createList: present(unused),
      onConflict: text('<upsert|skip>', `${unused}: no contact is changed`, { of: ['upsert', 'skip'] }),
      events: absent(`${unused}: it fires no events`),
      keepNames: present(`${unused}: fields are not read`),
      ...unasked('only count, and change nothing'),
    },
    run: async ({ out, work, progress, signal, exit }, given, { map, encoding, dryRun = false, ...flags }) => {
      const defaultReason = await parseReason(flags.reason)
      const { checkRejectsFile, createReasonCounts, openTable, originOf, rejectsText } = await import(
        '../contacts/contacts.ts'
      )
      const { importSuppressions } = await import('./suppressions.import.ts')
      const file = given === '-' ? given : resolve(given)
      if (flags.rejects !== undefined && !dryRun) await checkRejectsFile(flags.rejects, file)
      const { from, assumeSubscribed, keepNames } = flags
      const origin = await originOf(file, { from, assumeSubscribed, keepNames })
      const table = await openTable(file, { map, encoding, signal, origin })
      const rejects = flags.rejects === undefined || dryRun ? null : createWriteStream(flags.rejects)
      rejects?.write(csvLine(['line', 'email', 'reason']))
      const reasons = await createReasonCounts()
      const bar = progress('row')
      const { size, bytesRead } = table.source
      const { counts, unknown } = await importSuppressions(work, table, {
        defaultReason,
        dryRun,
        signal,
        onRows: (rows) => bar.update({ rows, fraction: size ? Math.min(1, bytesRead() / size) : null }),
        onRejected: ({ line, email, reason }) => {
          rejects?.write(csvLine([line, email, reason]))
          reasons.add(reason)
        },
      }).finally(() => {
        bar.stop()
        table.end()
      })
      if (rejects) await finished(rejects.end())
      const names = unknown.map((text) => shown(text, 40)).join(', ')
      const warnings = names ? [`Unknown reason ${names}: used ${defaultReason} instead.`] : []
      for (const warning of warnings) out.note(warning)
      const shownCounts = { ...(dryRun && { dryRun }), ...counts }
      out.one({ ...shownCounts, warnings }, shownCounts)
      if (counts.rejected > 0 && out.isText) {
        out.note(await rejectsText(counts.rejected, reasons.frequent()))
        if (!rejects) out.note('  next: the same with --rejects <file>, which gets each of these rows with its line')
      }
      if (dryRun) out.note('Nothing was changed.')
      if (counts.rejected > 0) exit(5)
    },
  }),
]
