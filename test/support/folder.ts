import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { openApp } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/config.ts'
import { lockExclusively, stopEmbedded } from '../../src/embedded/embedded.ts'
import { eventually } from './eventually.ts'
import { atEnd } from './scope.ts'

/**
 * Returns the path of a data folder that does not exist yet. After the test, or after the file if a hook of the file calls this,
 * its server is stopped and the folder is removed.
 */
export const newDataFolder = async (): Promise<string> => {
  const top = await mkdtemp(join(tmpdir(), 'svc-data-'))
  // If root runs the tests, the server runs as another user.
  await chmod(top, 0o755)
  const folder = join(top, '.svc')
  atEnd(async () => {
    await stopEmbedded(folder)
    await rm(top, { recursive: true, force: true, maxRetries: 5 })
  })
  return folder
}

/** As `newDataFolder`, with a copy of a data folder whose server has stopped. */
export const copyDataFolder = async (source: string): Promise<string> => {
  const folder = await newDataFolder()
  await promisify(execFile)('cp', ['-a', source, folder])
  // Each copy chooses a port of its own.
  for (const own of ['postgres.port', 'postgres.log']) await rm(join(folder, own), { force: true })
  return folder
}

/**
 * As `newDataFolder`, with a copy of the folder that `make` creates and leaves without a server. `make` runs once for each name and
 * run of the tests, in one worker: creating and migrating a database takes 1.3 s of CPU time, and copying one 0.05 s.
 */
export const copiedDataFolder = async (name: string, make: (folder: string) => Promise<unknown>): Promise<string> => {
  const sources = join(tmpdir(), 'svc-sources')
  const source = join(sources, name)
  await mkdir(sources, { recursive: true, mode: 0o755 })
  const lock = await eventually(() => lockExclusively(`${source}.lock`))
  try {
    if (!existsSync(source)) {
      const unfinished = `${source}.new`
      await rm(unfinished, { recursive: true, force: true })
      await make(unfinished)
      await rename(unfinished, source)
    }
  } finally {
    await lock.close()
  }
  return copyDataFolder(source)
}

/** Returns a data folder with a migrated, empty database, as `svc db migrate` leaves it. */
export const migratedDataFolder = (): Promise<string> =>
  copiedDataFolder('migrated', async (folder) => {
    const app = await openApp(readConfig({ SVC_DATA_DIR: folder, SVC_LOG_LEVEL: 'silent' }))
    await app.close()
  })
