import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { lockForOne } from '../../embedded/embedded.ts'
import { conflict } from '../../lib/problem.ts'

/** The file that the running `svc dev` locks; it contains the URL of its API. */
const claimFile = (dataDir: string): string => join(dataDir, 'dev')

export interface Claim {
  /** Writes the URL into the file, for the error of a second `svc dev`. */
  publish(url: string): Promise<void>
  release(): Promise<void>
}

/**
 * Locks the data folder for one `svc dev`; throws Problem `conflict` if another one has it. Two processes would share the
 * mail catcher's file and the demo's webhook: the second one would take both over. The kernel releases the lock when the
 * process ends.
 */
export const claimFolder = async (dataDir: string): Promise<Claim> => {
  const file = await lockForOne(claimFile(dataDir))
  if (!file) {
    const url = readFileSync(claimFile(dataDir), 'utf8').trim()
    throw conflict(`svc dev already runs on ${dataDir}${url ? `, at ${url}` : ' and is still starting'}`, {
      hint: 'use that one, or stop it with Ctrl-C; for a second one set SVC_DATA_DIR (or --data-dir) to another folder and SVC_PORT to a free port',
    })
  }
  await file.truncate()
  return {
    publish: async (url) => void (await file.write(`${url}\n`, 0)),
    release: () => file.close(),
  }
}
