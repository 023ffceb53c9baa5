import { Problem } from '../lib/problem.ts'

/** Opens a file with `BROWSER`, or with the system's opener. Throws Problem `configuration` if there is none. */
export const openFile = async (file: string): Promise<void> => {
  const { spawn } = await import('node:child_process')
  const opener = process.env.BROWSER || (process.platform === 'darwin' ? 'open' : 'xdg-open')
  const child = spawn(opener, [file], { detached: true, stdio: 'ignore' })
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', () =>
      reject(new Problem('configuration', `There is no ${opener} to open ${file} with`, { hint: 'set BROWSER' })),
    )
  })
  child.unref()
}

/** Returns the path of a file of that name in a new private folder. */
export const temporaryFile = async (name: string): Promise<string> => {
  const { mkdtemp } = await import('node:fs/promises')
  const { tmpdir } = await import('node:os')
  const { join } = await import('node:path')
  return join(await mkdtemp(join(tmpdir(), 'svc-')), name)
}
