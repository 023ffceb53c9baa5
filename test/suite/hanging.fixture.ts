import { writeFile } from 'node:fs/promises'
import { test } from 'vitest'
import { openEmbedded } from '../../src/embedded/embedded.ts'
import { spawnInTest } from '../support/children.ts'
import { startDaemon } from '../support/daemon.ts'
import { newDataFolder } from '../support/folder.ts'

test('hangs, with a process that ignores signals, a database server and, if asked to, a daemon', async () => {
  const { LEFTOVERS_DAEMON, LEFTOVERS_FILE = '' } = process.env
  spawnInTest('sh', ['-c', "trap '' HUP INT TERM; sleep 1000 & wait"])
  const folder = await newDataFolder()
  if (LEFTOVERS_DAEMON) await startDaemon({ env: { SVC_DATA_DIR: folder } })
  else await openEmbedded(folder)
  await writeFile(LEFTOVERS_FILE, String(process.pid))
  await new Promise(() => {})
})
