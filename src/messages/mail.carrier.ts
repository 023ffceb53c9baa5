import { setTimeout as sleep } from 'node:timers/promises'
import { Problem } from '../lib/problem.ts'
import { isUnavailable } from '../store/database.ts'
import type { App, Report } from '../store/work.ts'
import { type ClaimedMessage, releaseClaims, stillOurs } from './mail.claim.ts'
import { createComposer } from './mail.compose.ts'
import type { createLanes } from './mail.lanes.ts'
import { type Content, markHanding } from './mail.mark.ts'
import { createPipe } from './mail.pipe.ts'
import { failedResult, judge, type Result, recordResults, suppressedResult } from './mail.record.ts'
import { condemnAddress } from './suppressions.ts'

const batchSize = 200
const lockedRetryMs = 200
/** After a fault of ours with a message, it is due again after so long. */
const faultMs = 60_000
const recordMs = 3000

export interface Carrier {
  /** Hands over what waits in the lanes, as far as they may. */
  pump(): void
  /** Gives claims back of which nothing has left. */
  giveBack(claims: readonly ClaimedMessage[]): void
  /** The database takes no results at the moment: claiming more would only leave more in doubt. */
  readonly isStuck: boolean
  /** What is in hand has `deadlineMs` to end; then its connections are cut. All is recorded when this resolves. */
  finish(deadlineMs: number): Promise<void>
}

interface Ports {
  /** Its end is recorded; null: it was given back, or is another's. */
  settled(claimed: ClaimedMessage, result: Result | null): void
  /** There is room in a lane. */
  freed(): void
  report: Report
}

/**
 * Carries messages from their claim to their record, the same way for the job and for POST /send: mark, hand over, record.
 * Marks and records are gathered; a message's slot is free when its result is recorded.
 */
export const createCarrier = (
  app: App,
  lanes: ReturnType<typeof createLanes>,
  { settled, freed, report }: Ports,
): Carrier => {
  const compose = createComposer(app)
  const handing = new Set<Promise<void>>()
  let isFinishing = false
  let isOver = false

  const done = (claimed: ClaimedMessage, result: Result | null) => {
    lanes.done(claimed)
    settled(claimed, result)
    pump()
    freed()
  }

  const later = (run: () => void) => {
    const waited = sleep(lockedRetryMs).then(() => {
      handing.delete(waited)
      if (!isOver) run()
    })
    handing.add(waited)
  }

  const release = createPipe<{ claimed: ClaimedMessage; waitMs: number }>(batchSize, {
    async run(batch) {
      for (const [waitMs, same] of Map.groupBy(batch, (item) => item.waitMs)) {
        const claims = same.map(({ claimed }) => claimed)
        await releaseClaims(app.sql, claims, waitMs)
        const locked = await stillOurs(app.sql, claims)
        if (locked.size > 0) later(() => release.push(same.filter(({ claimed }) => locked.has(claimed.id))))
      }
    },
    isPassing: isUnavailable,
    failed: ({ claimed }, fault) => report(fault, { message: claimed.id }),
  })

  const record = createPipe<Result>(batchSize, {
    async run(batch) {
      for (const result of batch) if (result.isBounced) await condemnRecipient(result)
      const { written, locked } = await recordResults(app.sql, batch)
      if (locked.length > 0) later(() => record.push(locked))
      const ours = new Set([...written, ...locked])
      for (const result of written) {
        if (result.status !== 'queued') app.tallies.count('sends', result.status)
        done(result.claimed, result)
      }
      for (const result of batch) if (!ours.has(result)) done(result.claimed, null)
    },
    isPassing: isUnavailable,
    failed(result, fault) {
      report(fault, { message: result.claimed.id })
      later(() => record.push([result]))
    },
  })

  // Before its record, which is the last that is heard of it; twice is as good as once.
  const condemnRecipient = async ({ claimed: { accountId, id } }: Result) => {
    try {
      await app.work(accountId, 'job:mail', async (work) => {
        const rows = await work.sql<{ email: string }>(
          `select email from messages where account_id = $1 and id = $2 and email <> ''`,
          [accountId, id],
        )
        for (const { email } of rows) await condemnAddress(work, email, 'bounced')
      })
    } catch (error) {
      // Its account is being deleted: there is nobody left to spare.
      if (!(error instanceof Problem && error.kind === 'missing')) throw error
    }
  }

  const handOver = async (claimed: ClaimedMessage, content: Content): Promise<void> => {
    try {
      const composed = await compose(claimed, content)
      if (!composed) return record.push([failedResult(claimed, 'The sending method or the project is gone')])
      const outcome = await app.smtp.send(composed.relay, composed.mail)
      const random = Math.random()
      giveBack(lanes.answered(claimed, outcome, performance.now(), random))
      record.push([judge(claimed, outcome, random)])
    } catch (fault) {
      // Of our own making, before anything left: it is no verdict on the mail.
      report(fault, { message: claimed.id })
      lanes.done(claimed)
      settled(claimed, null)
      release.push([{ claimed, waitMs: faultMs }])
    }
  }

  const mark = createPipe<ClaimedMessage>(batchSize, {
    async run(batch) {
      const contents = await markHanding(app.sql, batch)
      const absent = batch.filter(({ id }) => !contents.has(id))
      const locked = absent.length > 0 ? await stillOurs(app.sql, absent) : new Set<string>()
      for (const claimed of batch) {
        const content = contents.get(claimed.id)
        if (!content) {
          if (locked.has(claimed.id)) later(() => mark.push([claimed]))
          else done(claimed, null)
        } else if (content.reason !== null) record.push([suppressedResult(claimed, content.reason)])
        else {
          const handed = handOver(claimed, content).finally(() => handing.delete(handed))
          handing.add(handed)
        }
      }
    },
    isPassing: isUnavailable,
    failed(claimed, fault) {
      report(fault, { message: claimed.id })
      lanes.done(claimed)
      settled(claimed, null)
      release.push([{ claimed, waitMs: faultMs }])
    },
  })

  const giveBack = (claims: readonly ClaimedMessage[]) => {
    for (const claimed of claims) settled(claimed, null)
    release.push(claims.map((claimed) => ({ claimed, waitMs: 0 })))
  }

  const pump = () => {
    if (!isFinishing) mark.push(lanes.next(performance.now()))
  }

  // What was locked is looked at again a little later, which may begin anything anew.
  const idle = async () => {
    do {
      await Promise.all(handing)
      await mark.flush()
    } while (handing.size > 0)
  }

  const recorded = async () => {
    do {
      await idle()
      await Promise.all([record.flush(), release.flush()])
    } while (handing.size > 0)
  }

  return {
    pump,
    giveBack,
    get isStuck() {
      return record.isStuck
    },
    async finish(deadlineMs) {
      isFinishing = true
      giveBack(lanes.takeBack(() => true))
      const deadline = (ms: number) => sleep(ms, undefined, { ref: false })
      await Promise.race([idle(), deadline(deadlineMs)])
      // What the relay has not answered by now ends here; nobody will know more of it.
      app.smtp.close()
      await Promise.race([recorded(), deadline(recordMs)])
      isOver = true
    },
  }
}
