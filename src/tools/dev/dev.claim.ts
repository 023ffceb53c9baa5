import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { dataDirOf } from '../../app/config.ts'
import { lockExclusively } from '../../embedded/embedded.ts'
import { conflict } from '../../lib/problem.ts'

/** The file that the running `svc dev` locks; it contains the URLs of its API and its console, a line each. */
const claimFile = (dataDir: string): string => join(dataDir, 'dev')

interface Claim {
  /** Writes the URLs into the file: for the error of a second `svc dev`, and for `consoleUrl`. */
  publish(url: string, consoleUrl: string): Promise<void>
  release(): Promise<void>
}

/**
 * Locks the data folder for one `svc dev`; throws Problem `conflict` if another one has it. Two processes would share the
 * mail catcher's file and the demo's webhook: the second one would take both over. The kernel releases the lock when the
 * process ends.
 */
export const claimFolder = async (dataDir: string): Promise<Claim> => {
  const file = await lockExclusively(claimFile(dataDir))
  if (!file) {
    const [url] = readFileSync(claimFile(dataDir), 'utf8').split('\n')
    throw conflict(`svc dev already runs on ${dataDir}${url ? `, at ${url}` : ' and is still starting'}`, {
      hint: 'use that one, or stop it with Ctrl-C; for a second one set SVC_DATA_DIR (or --data-dir) to another folder and SVC_PORT to a free port',
    })
  }
  await file.truncate()
  return {
    publish: async (url, consoleUrl) => void (await file.write(`${url}\n${consoleUrl}\n`, 0)),
    release: () => file.truncate().finally(() => file.close()),
  }
}

const isListening = (url: string): Promise<boolean> => {
  const { hostname: host, port } = new URL(url)
  const socket = connect({ host, port: Number(port) })
  return once(socket, 'connect')
    .then(
      () => true,
      () => false,
    )
    .finally(() => socket.destroy())
}

/**
 * Returns the URL of the console of the `svc dev` that runs in the data folder; null if none runs. A process that was killed leaves
 * its file behind, so the console must accept connections.
 */
export const consoleUrl = async (env = process.env): Promise<string | null> => {
  // That database need not be the one of the data folder's svc dev.
  if (env.DATABASE_URL) return null
  const text = await readFile(claimFile(dataDirOf(env)), 'utf8').catch(() => '')
  const [, url] = text.split('\n')
  return url && (await isListening(url)) ? url : null
}
