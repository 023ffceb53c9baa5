import { execFile, spawn } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { freePort } from '../support/daemon.ts'
import { pathOf } from '../support/needs.ts'
import type { Person } from './batch.ts'

/** Whether listmonk is on the PATH (https://listmonk.app/docs/installation). */
export const hasListmonk = (): boolean => pathOf('listmonk') !== undefined

const startLimitMs = 30_000
const importLimitMs = 600_000
const pollMs = 20

/** Writes contacts in the columns of listmonk's import: all but the address are attributes, in JSON. */
export const writeSubscribers = async (path: string, people: Iterable<Person>): Promise<void> => {
  const file = createWriteStream(path)
  file.write('email,name,attributes\r\n')
  for (const { email, first_name, ...attributes } of people) {
    const cell = `"${JSON.stringify(attributes).replaceAll('"', '""')}"`
    if (!file.write(`${email},${first_name},${cell}\r\n`)) await new Promise((resolve) => file.once('drain', resolve))
  }
  await new Promise<void>((resolve) => file.end(resolve))
}

/** Installs and starts listmonk on an empty database. */
export const openListmonk = async (databaseUrl: string) => {
  const { hostname, port: databasePort, username, password, pathname } = new URL(databaseUrl)
  const port = await freePort()
  const env = {
    PATH: process.env.PATH,
    LISTMONK_app__address: `127.0.0.1:${port}`,
    LISTMONK_db__host: hostname,
    LISTMONK_db__port: databasePort || '5432',
    LISTMONK_db__user: decodeURIComponent(username),
    LISTMONK_db__password: decodeURIComponent(password),
    LISTMONK_db__database: pathname.slice(1),
    LISTMONK_db__ssl_mode: 'disable',
    LISTMONK_db__max_open: '25',
    LISTMONK_db__max_idle: '25',
    LISTMONK_db__max_lifetime: '300s',
    LISTMONK_ADMIN_USER: 'bench',
    LISTMONK_ADMIN_PASSWORD: 'only for benches',
    LISTMONK_ADMIN_API_USER: 'bench_api',
  }
  const { stderr } = await promisify(execFile)('listmonk', ['--config', '', '--install', '--yes'], { env })
  const token = /LISTMONK_ADMIN_API_TOKEN="([^"]+)"/.exec(stderr)?.[1]
  if (!token) throw new Error('listmonk has made no API token')
  const child = spawn('listmonk', ['--config', ''], { env, stdio: 'ignore' })
  const call = async (path: string, init: RequestInit = {}) => {
    const reply = await fetch(`http://127.0.0.1:${port}/api${path}`, {
      ...init,
      headers: { authorization: `token bench_api:${token}` },
    })
    const body = (await reply.json()) as { data: { status?: string; imported?: number } }
    if (!reply.ok) throw new Error(`listmonk answered ${reply.status} to ${path}: ${JSON.stringify(body)}`)
    return body.data
  }
  for (const startBy = performance.now() + startLimitMs; ; await sleep(pollMs)) {
    if (await call('/import/subscribers').catch(() => null)) break
    if (performance.now() > startBy || child.exitCode !== null) throw new Error('listmonk has not started')
  }
  return {
    /** Imports a file into the list that the installation makes; returns the number of imported rows. */
    async import(path: string): Promise<number> {
      await call('/import/subscribers', { method: 'DELETE' })
      const form = new FormData()
      const params = { mode: 'subscribe', subscription_status: 'confirmed', delim: ',', lists: [1], overwrite: true }
      form.set('params', JSON.stringify(params))
      form.set('file', new Blob([await readFile(path)]), basename(path))
      await call('/import/subscribers', { method: 'POST', body: form })
      for (const endBy = performance.now() + importLimitMs; performance.now() < endBy; await sleep(pollMs)) {
        const { status, imported = 0 } = await call('/import/subscribers')
        if (status === 'finished') return imported
        if (status !== 'importing') throw new Error(`The import of listmonk is ${status}`)
      }
      throw new Error('The import of listmonk has not ended')
    },
    close: () => child.kill(),
  }
}
