import { Problem } from '../../lib/problem.ts'
import { readMethod } from '../../senders/senders.ts'
import type { App, Work } from '../../store/work.ts'
import { largeMails } from '../messages.queue.ts'
import { insertAttachments } from '../outbox/attachments.ts'
import { type Inserted, insertMessages } from '../outbox/insert.ts'
import type { ClaimedMessage } from '../outbox/outbox.claim.ts'
import { type Claimant, claimOf } from './send.claims.ts'
import { type Call, copiesOf, messageOf, type Sendable } from './send.message.ts'
import { takeCallQuotas } from './send.quotas.ts'

/*
 * Reserves calls: inserts their messages, claimed by this process, and takes their quotas. A call has one message to its `to`, the
 * original, and a copy of it to each address in cc and bcc.
 */

/** The outcome of a call. With `taken`, an earlier call has used its key. */
export type Reserved =
  | {
      inserted: Inserted
      /** The message and its copies to cc and bcc. It is empty if they wait in the queue, for their time or because it is paused. */
      claims: ClaimedMessage[]
      /** The recipients of cc and bcc that are suppressed. */
      suppressed: string[]
    }
  | { taken: true }
  | { refusal: Problem }

/** Attachments of more bytes than this are large. */
const largeBytes = 1024 * 1024

/** Returns the stream in which the messages of calls wait. Only a call that is reserved by itself has attachments. */
const streamOf = (calls: readonly Call[]): string => {
  const attached = calls.flatMap(({ body }) => body.attachments ?? [])
  return attached.reduce((sum, { content }) => sum + content.length, 0) > largeBytes ? largeMails : ''
}

interface Draft {
  call: Call
  message: Sendable
}

interface Written extends Draft {
  inserted: Inserted
}

const isPending = ({ inserted }: Written): boolean => inserted.status === 'pending'

type Insert = (messages: readonly Sendable[]) => Promise<(Inserted | undefined)[]>

/** Inserts originals with their attachments. Leaves out those whose key is taken. */
const insertOriginals = async (work: Work, insert: Insert, drafts: readonly Draft[]): Promise<Written[]> => {
  const rows = await insert(drafts.map(({ message }) => message))
  const originals = drafts.flatMap((draft, i) => (rows[i] ? { ...draft, inserted: rows[i] } : []))
  for (const { call, inserted } of originals.filter(isPending))
    await insertAttachments(work, inserted.id, call.body.attachments ?? [])
  return originals
}

/** Inserts the copies of originals. An original that is suppressed has none. */
const insertCopies = async (insert: Insert, originals: readonly Written[]): Promise<Written[]> => {
  const drafts = originals.filter(isPending).flatMap(({ call, message, inserted }): Draft[] =>
    copiesOf(call.body).map(({ kind, email }) => ({
      call,
      message: { ...message, key: null, to: email, copy: { kind, of: inserted.id } },
    })),
  )
  const rows = await insert(drafts.map(({ message }) => message))
  return drafts.map((draft, i) => ({ ...draft, inserted: rows[i]! }))
}

/** Returns the outcome of a call whose message was inserted. `claimant` is null if no worker claims it. */
const outcomeOf = (original: Written, copies: readonly Written[], claimant: Claimant | null): Reserved => {
  const { message, inserted } = original
  const pending = [original, ...copies].filter(isPending)
  const cc = pending.flatMap(({ message }) => (message.copy?.kind === 'cc' ? message.to : []))
  const addressees = message.copy ? { to: message.to, cc } : null
  const isClaimed = claimant !== null && message.scheduledAt === undefined
  return {
    inserted,
    claims: isClaimed ? pending.map(({ message, inserted }) => claimOf(claimant, message, inserted, addressees)) : [],
    suppressed: copies.flatMap(({ message, inserted }) => (inserted.status === 'suppressed' ? message.to : [])),
  }
}

/**
 * Reserves calls of one account in one unit of work. One statement reads relay and senders, a second one inserts the messages,
 * claimed by `worker` or unclaimed if it is null, a third one inserts copies (cc, bcc) if there are any, and the quotas are
 * counted last. Throws Problem `limited` if a quota has too little left for all calls; nothing is written then.
 */
export const reserve = async (
  app: App,
  work: Work,
  calls: readonly Call[],
  worker: number | null,
): Promise<Reserved[]> => {
  const { accountId, now } = work
  const bodies = calls.map(({ body }) => body)
  const method = await readMethod(app, work, bodies)
  const refusals = new Map<Call, Problem>()
  const drafts: Draft[] = []
  for (const call of calls) {
    const message = await messageOf(app, work, method, call)
    if (message instanceof Problem) refusals.set(call, message)
    else drafts.push({ call, message })
  }
  const batch = streamOf(calls)
  const insert: Insert = async (messages) =>
    messages.length > 0 ? insertMessages(work, messages, worker, { id: batch, isHeld: false }) : []
  const originals = await insertOriginals(work, insert, drafts)
  const copies = await insertCopies(insert, originals)
  await takeCallQuotas(work, {
    sendApiCalls: originals.filter(({ call }) => call.countsCall).length,
    sends: [...originals, ...copies].filter(isPending).length,
  })
  const claimant = worker === null ? null : { accountId, worker, relay: method.relay, batch, now }
  const originalByCall = new Map(originals.map((original) => [original.call, original]))
  const copiesByCall = Map.groupBy(copies, ({ call }) => call)
  return calls.map((call) => {
    const refusal = refusals.get(call)
    if (refusal) return { refusal }
    const original = originalByCall.get(call)
    return original ? outcomeOf(original, copiesByCall.get(call) ?? [], claimant) : { taken: true }
  })
}
