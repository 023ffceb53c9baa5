import { createServer } from 'node:net'
import { hasCluster } from '../embedded/folder.ts'
import { Problem } from '../lib/problem.ts'
import type { Config } from './config.ts'

/** Returns the code of the error, or null if the port is free. */
export const tryPort = (host: string, port: number): Promise<string | null> =>
  new Promise((resolve) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    server.listen(port, host, () => server.close(() => resolve(null)))
  })

/** Returns the Problem of a server that can't listen there, by the code of its error; null for other errors. */
export const refusedPort = (code: string | undefined, host: string, port: number, isApi: boolean): Problem | null => {
  if (code === 'EADDRINUSE')
    return new Problem('configuration', `Port ${port} is taken`, {
      hint: isApi ? 'set SVC_PORT to a free one' : 'choose a free one',
    })
  if (code === 'EACCES')
    return new Problem('configuration', `Port ${port} may not be used by this user`, {
      hint: isApi ? 'set SVC_PORT to one above 1023' : 'choose one above 1023',
    })
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return new Problem('configuration', `SVC_HOST ${host} is not an address of this machine`)
  return null
}

type Place = Pick<Config, 'databaseUrl' | 'dataDir' | 'host' | 'port'>

/** Throws Problem `configuration` for a port that can't be used, before a database is created for a daemon that can't start. */
export const requirePortBeforeDatabase = async ({ databaseUrl, dataDir, host, port }: Place): Promise<void> => {
  if (databaseUrl !== null || hasCluster(dataDir)) return
  const refusal = refusedPort((await tryPort(host, port)) ?? undefined, host, port, true)
  if (refusal) throw refusal
}
