import { lockLeaving, type OptOut, type Suppressing } from '../contacts/contacts.ts'
import { oneLine } from '../lib/strings.ts'
import { statement } from '../store/statement.ts'
import type { Work } from '../store/work.ts'
import { leaveTopics, suppressAddresses } from './suppressions.add.ts'
import { suppressedReason } from './suppressions.rows.ts'
import { createTopic, NewTopic, nameMaxLength } from './topics.change.ts'
import { listTopics } from './topics.find.ts'

const readSuppressed = statement(
  'suppressed-of-addresses',
  { row: { email: 'text' }, parameters: { accountId: 'text', emails: '_text' } },
  `select distinct s.email from unnest(:emails::text[]) as e(email)
   join suppressions s on s.account_id = :accountId and s.email = e.email and s.topic_id = ''`,
)

// Most addresses are neither doubtful nor suppressed: only the others are looked up in full.
const readReasons = statement(
  'marketing-reasons-of-addresses',
  { row: { email: 'text', reason: 'text' }, parameters: { accountId: 'text', emails: '_text', doubtful: '_text' } },
  `select e.email, r.reason from unnest(:emails::text[]) as e(email)
   cross join lateral (select ${suppressedReason(':accountId', 'e.email', `'marketing'`, 'null')} as reason) r
   where (e.email = any(:doubtful::text[])
     or exists (select from suppressions where account_id = :accountId and email = e.email and topic_id = '')) and r.reason is not null`,
)

/** Returns the key of an opt-out in the result of `suppressSince`. */
export const optOutKey = ({ email, reason }: Pick<OptOut, 'email' | 'reason'>): string => `${email} ${reason}`

/** Suppresses addresses, each since the time when it opted out. Returns the keys of those that were not suppressed for that reason before. */
export const suppressSince = async (work: Work, optOuts: readonly OptOut[]): Promise<Set<string>> => {
  const added = new Set<string>()
  const ofReason = Map.groupBy(optOuts, (optOut) => optOut.reason)
  // Addresses are locked in their order (docs/locking.md), and each reason begins with the first address again.
  if (ofReason.size > 1) {
    await lockLeaving(
      work,
      optOuts.map(({ email }) => email),
    )
  }
  for (const [reason, same] of ofReason) {
    const emails = same.map(({ email }) => email)
    const since = same.map(({ at }) => (at === null ? null : new Date(Math.min(at, work.now.getTime()))))
    for (const email of await suppressAddresses(work, emails, reason, since)) added.add(optOutKey({ email, reason }))
  }
  return added
}

/**
 * Makes addresses leave topics, which are given by name and created if they do not exist. Returns the addresses that
 * left one now. Throws Problem `limited` if the account can have no more topics.
 */
export const leaveNamed = async (work: Work, left: ReadonlyMap<string, ReadonlySet<string>>): Promise<Set<string>> => {
  const added = new Set<string>()
  for (const [given, emails] of left) {
    const input = NewTopic.parse({ name: oneLine(given, nameMaxLength) })
    const known = (await listTopics(work)).find(({ name }) => name === input.name)
    const { id } = known ?? (await createTopic(work, input))
    for (const email of await leaveTopics(work, [...emails].toSorted(), [id])) added.add(email)
  }
  return added
}

/** What imports, lists and exports of contacts do with suppressions. */
export const suppressing: Suppressing = {
  suppress: async (work, optOuts) => void (await suppressSince(work, optOuts)),
  leave: async (work, left) => void (await leaveNamed(work, left)),
  suppressedOf: async ({ sql, accountId }, emails) =>
    emails.length === 0
      ? new Set()
      : new Set((await sql(readSuppressed, { accountId, emails })).map(({ email }) => email)),
  reasonsOf: async ({ sql, accountId }, emails, doubtful) =>
    emails.length === 0
      ? new Map()
      : new Map((await sql(readReasons, { accountId, emails, doubtful })).map(({ email, reason }) => [email, reason])),
}
