import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { Pool } from 'undici'
import { openApp } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/config.ts'
import { loadPages, loadRoutes } from '../../src/app/features.ts'
import { buildServer } from '../../src/http/server.ts'

/** The measurements of the server since the last question. */
export interface Vitals {
  /** The longest event loop turn in CPU milliseconds of its thread: other programs on this machine do not count. */
  stallMs: number
  /** Peak memory of the process. */
  rssMb: number
}

/** One of the two processes of the bench: the server, or the second account, which calls it continuously. */
const [role, url = '', key = ''] = process.argv.slice(2)

const cpuMs = (since?: NodeJS.CpuUsage): number => {
  const { user, system } = process.threadCpuUsage(since)
  return (user + system) / 1000
}

const serve = async () => {
  const app = await openApp(readConfig(process.env), { connections: 20 })
  const { fastify } = await buildServer(
    app,
    await loadRoutes(),
    pino({ level: 'error' }, pino.destination(2)),
    await loadPages(),
  )
  await fastify.listen({ port: 0, host: '127.0.0.1' })
  let vitals: Vitals = { stallMs: 0, rssMb: 0 }
  let before = process.threadCpuUsage()
  setInterval(() => {
    vitals.stallMs = Math.max(vitals.stallMs, cpuMs(before))
    vitals.rssMb = Math.max(vitals.rssMb, process.memoryUsage.rss() / 2 ** 20)
    before = process.threadCpuUsage()
  }, 1)
  process.on('message', () => {
    process.send!(vitals)
    vitals = { stallMs: 0, rssMb: 0 }
  })
  process.send!((fastify.server.address() as { port: number }).port)
}

const witness = async () => {
  const pool = new Pool(url, { connections: 1 })
  let waits: number[] = []
  process.on('message', () => {
    process.send!(waits)
    waits = []
  })
  process.send!(0)
  for (;;) {
    const started = performance.now()
    const headers = { authorization: `Bearer ${key}` }
    const { statusCode, body } = await pool.request({ method: 'GET', path: '/api/v1/lists', headers })
    const text = await body.text()
    if (statusCode !== 200) throw new Error(`The second account was answered ${statusCode}: ${text}`)
    waits.push(performance.now() - started)
    await sleep(5)
  }
}

await (role === 'serve' ? serve() : witness())
