import type { ChildProcess } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../../support/random.ts'
import { type Api, Unanswered } from './api.ts'
import { importing } from './imports.ts'
import type { Ledger } from './ledger.ts'
import { suppressedAddress, type World } from './world.ts'

/*
 * Each writer makes one call after the other until `stop`, and repeats a call until it is answered. Data that was
 * written by a call with several attempts is never written again with other values: an unanswered attempt may still be
 * carried out later, and would then correctly overwrite the newer values.
 */

export interface Writing {
  world: World
  api: Api
  ledger: Ledger
  random: Random
  /** Violations that the writers notice. */
  complaints: string[]
  /** URLs of the database, one through each daemon's proxy. */
  ways: readonly string[]
  /** The folder of the files to import. */
  folder: string
  /** The running imports. */
  importers: Set<ChildProcess>
  /** Aborted when writers must start nothing new. */
  stop: AbortSignal
  /** Aborted when writers must give up unanswered calls. */
  giveUp: AbortSignal
}

/** One action of a writer; `n` counts from 0, and `name` and `n` together are unique. */
export type Act = (writing: Writing, name: string, n: number) => Promise<void>

const addressOf = (name: string) => `${name}@chaos.example`

const single: Act = async ({ world, api, ledger, random }, name, n) => {
  const email = addressOf(`${name}-${n}`)
  const listId = world.lists.singles
  const contact = { fields: { step: '0', by: name }, changes: 0 }
  for (let step = 0; step <= 2; step++) {
    const fields = { step: String(step), by: name }
    const { attempts } = await api.ask('POST', '/contacts', { body: { listId, email, fields } })
    contact.fields = fields
    contact.changes = step
    ledger.contacts.set(`${listId} ${email}`, contact)
    if (attempts > 1 || random.next() < 0.4) return
  }
}

/** Several writers add the same addresses, in the same and in different orders, always with the same fields. */
const poolSize = 1000
const batch: Act = async ({ world, api, ledger, random }) => {
  const listId = world.lists.pool
  const numbers = new Set(Array.from({ length: random.between(5, 40) }, () => random.between(0, poolSize - 1)))
  const contacts = [...numbers].map((i) => ({ email: addressOf(`pool-${i}`), color: `c${i % 7}` }))
  await api.ask('POST', '/contacts', { body: { listId, contacts } })
  for (const { email, color } of contacts)
    ledger.contacts.getOrInsert(`${listId} ${email}`, { fields: { color }, changes: 0 })
}

const send: Act = async ({ api, ledger, random, giveUp, complaints }, name, n) => {
  const key = `${name}-${n}`
  const to = random.next() < 0.03 ? suppressedAddress : addressOf(key)
  const body = { to, subject: key, html: '<p>Hello</p>', text: 'Hello' }
  let first: string | undefined
  for (;;) {
    const { body: result } = await api.ask('POST', '/send', { body, headers: { 'idempotency-key': key } })
    const { id, status, error = null } = result
    first ??= id
    if (id !== first) complaints.push(`the key ${key} was answered with ${first} and with ${id}`)
    if (status !== 'pending') return void ledger.sends.push({ key, to, id, status, error })
    await sleep(random.between(100, 1000))
    if (giveUp.aborted) throw new Unanswered(`the message ${id} stays pending`)
  }
}

const deal: Act = async ({ world, api, ledger, random, giveUp }, name, n) => {
  const listId = world.lists.singles
  const known = () => [...ledger.contacts.keys()].filter((place) => place.startsWith(listId))
  while (known().length === 0 && !giveUp.aborted) await sleep(100)
  const email = random.pick(known()).split(' ')[1]!
  const value = `${random.between(1, 999)}.50`
  const request = {
    body: { title: `${name}-${n}`, email, listId, value },
    headers: { 'idempotency-key': `${name}-${n}` },
  }
  const made = await api.ask('POST', '/deals', request)
  // The call was refused, so there is no deal.
  if (made.status >= 400) return
  const { id, title, stageId } = made.body.deal
  const entry = { id, title, value, stages: [stageId as string] }
  ledger.deals.push(entry)
  for (let attempts = made.attempts, moves = random.between(0, 2); attempts === 1 && moves > 0; moves--) {
    const next = random.pick(world.stages.filter((stage) => stage !== entry.stages.at(-1)))
    attempts = (await api.ask('PATCH', `/deals/${id}`, { body: { stageId: next } })).attempts
    entry.stages.push(next)
  }
}

const travel: Act = async ({ world, api, ledger }, name, n) => {
  const email = addressOf(`${name}-${n}`)
  const listId = world.lists.travellers
  await api.ask('POST', `/journeys/${world.journeyId}/trigger`, { body: { email, listId } })
  ledger.travellers.push(email)
  ledger.contacts.set(`${listId} ${email}`, { fields: {}, changes: 0 })
}

const register: Act = async ({ world, api, ledger, random }, name, n) => {
  const email = addressOf(`${name}-${n}`)
  const { id: webinarId } = random.pick(world.webinars)
  const { body } = await api.ask('POST', `/webinars/${webinarId}/register`, { body: { email, name: `Guest ${n}` } })
  ledger.seats.push({ webinarId, email, status: body.status })
}

/** The kinds of writers: how many run at once, and their average pause between two actions, in ms. */
const kinds: { name: string; act: Act; writers: number; restMs: number }[] = [
  { name: 'single', act: single, writers: 3, restMs: 40 },
  { name: 'batch', act: batch, writers: 3, restMs: 300 },
  { name: 'send', act: send, writers: 6, restMs: 60 },
  { name: 'deal', act: deal, writers: 2, restMs: 100 },
  { name: 'travel', act: travel, writers: 2, restMs: 100 },
  { name: 'register', act: register, writers: 2, restMs: 100 },
  { name: 'import', act: importing, writers: 1, restMs: 1000 },
]

/** Runs all writers, each for at least one action; resolves once all have stopped. Unanswered calls become complaints. */
export const write = async (writing: Writing): Promise<void> => {
  const run = async (name: string, act: Act, restMs: number) => {
    const random = writing.random.fork(name)
    for (let n = 0; n === 0 || !writing.stop.aborted; n++) {
      try {
        await act({ ...writing, random }, name, n)
      } catch (error) {
        if (!(error instanceof Unanswered)) throw error
        writing.complaints.push(`${name}-${n}: ${error.message}`)
      }
      await sleep(random.between(0, 2 * restMs))
    }
  }
  await Promise.all(
    kinds.flatMap(({ name, act, writers, restMs }) =>
      Array.from({ length: writers }, (_, i) => run(`${name}${i}`, act, restMs)),
    ),
  )
}
