import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, chown, mkdir, mkdtemp, open, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parse } from 'yaml'
import { fromPasswd, isRoot } from '../../../src/embedded/user.ts'
import { freePort } from '../../support/daemon.ts'
import { limit } from '../../support/slowness.ts'
import type { Server } from '../chaos/chaos.ts'
import { kill, patroniFaults } from './faults.ts'
import { openWatchdog, type Watchdog } from './watchdog.ts'

/** Debian's packages `patroni`, `etcd-server`, `haproxy` and `postgresql` install these. */
const programs = { patroni: '/usr/bin/patroni', etcd: '/usr/bin/etcd', haproxy: '/usr/sbin/haproxy' } as const

const findPostgres = async (): Promise<string | undefined> => {
  const top = '/usr/lib/postgresql'
  const versions = (await readdir(top).catch(() => [])).map(Number).toSorted((a, b) => b - a)
  return versions.map((version) => join(top, String(version), 'bin')).find((bin) => existsSync(join(bin, 'postgres')))
}

/** Returns a sentence that names the missing programs, or null if Patroni (at that path) can run. */
export const missingPrograms = async (patroni: string = programs.patroni): Promise<string | null> => {
  const missing: string[] = Object.values({ ...programs, patroni }).filter((path) => !existsSync(path))
  if (!(await findPostgres())) missing.push('/usr/lib/postgresql')
  return missing.length > 0
    ? `Skipped: ${missing.join(', ')} missing (apt-get install patroni etcd-server haproxy postgresql)`
    : null
}

export interface Node {
  name: string
  /** The port of PostgreSQL; `restPort` is that of Patroni's REST interface. */
  port: number
  restPort: number
  data: string
}

export interface PatroniOptions {
  /** The path of Patroni. By default it is Debian's. */
  program?: string | undefined
  /** Called with the name of a node that its watchdog resets. Nodes have a watchdog only if this is set. */
  onReset?: ((name: string) => void) | undefined
}

export interface Patroni extends Server {
  /** Waits until one node leads and the others replicate, one of them synchronously; returns the leader. */
  whole(limitMs?: number): Promise<Node>
  switchover(leader: Node): Promise<void>
  /** Returns the pids of the node's PostgreSQL processes, the postmaster's first. */
  postgres(node: Node): Promise<number[]>
  /** Returns the node's Patroni process. */
  agent(node: Node): ChildProcess
  /** Kills all processes of the node and starts it again, as a machine that restarts does. */
  restart(node: Node): Promise<void>
  close(): Promise<void>
}

const loopback = '127.0.0.1'

const page = join(import.meta.dirname, '../../../docs/recipes/patroni.md')

/** Returns a code block of the page. */
const documented = async (language: string): Promise<string> =>
  new RegExp(`\`\`\`${language}\\n([\\s\\S]+?)\`\`\``).exec(await readFile(page, 'utf8'))![1]!

/** The documented settings, without waiting for the disk. */
const readSettings = async () => {
  const { postgresql, ...settings } = parse(await documented('yaml'))
  const parameters = { ...postgresql.parameters, fsync: 'off', log_min_error_statement: 'panic' }
  return { ...settings, postgresql: { ...postgresql, parameters } }
}

/** How long a machine takes to restart. A node that was reset returns about when its lease ends. */
const restartMs = 5000

const configOf = (
  { name, port, restPort, data }: Node,
  {
    etcdPort,
    bin,
    folder,
    settings,
    watchdog,
  }: { etcdPort: number; bin: string; folder: string; settings: object; watchdog: object },
) => ({
  scope: 'chaos',
  name,
  restapi: { listen: `${loopback}:${restPort}`, connect_address: `${loopback}:${restPort}` },
  etcd3: { host: `${loopback}:${etcdPort}` },
  watchdog,
  bootstrap: { dcs: settings, initdb: [{ encoding: 'UTF8' }, { locale: 'C' }, { auth: 'trust' }] },
  postgresql: {
    listen: `${loopback}:${port}`,
    connect_address: `${loopback}:${port}`,
    data_dir: data,
    bin_dir: bin,
    pgpass: join(folder, `${name}.pgpass`),
    remove_data_directory_on_diverging_timelines: true,
    authentication: { superuser: { username: 'svc' }, replication: { username: 'svc' }, rewind: { username: 'svc' } },
    pg_hba: [`host all all ${loopback}/32 trust`, `host replication all ${loopback}/32 trust`, 'local all all trust'],
    parameters: { unix_socket_directories: folder, timezone: 'UTC' },
  },
})

/** Returns the documented configuration with other addresses. */
const haproxyConfig = async (port: number, nodes: readonly Node[]) => {
  const config = (await documented('haproxy')).replace('127.0.0.1:5432', `${loopback}:${port}`)
  return nodes.reduce(
    (text, { name, port: own, restPort }) =>
      text.replace(new RegExp(`server ${name} .*`), `server ${name} ${loopback}:${own} check port ${restPort}`),
    config,
  )
}

/** Starts three nodes with synchronous replication, etcd and HAProxy, on loopback ports and in a temporary folder. */
export const openPatroni = async ({ program, onReset }: PatroniOptions = {}): Promise<Patroni> => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-patroni-'))
  const user = isRoot() ? await fromPasswd() : undefined
  if (user) await chown(folder, user.uid, user.gid)
  await chmod(folder, 0o755)
  const bin = (await findPostgres())!
  const logFile = join(folder, 'log')
  const log = await open(logFile, 'a')
  const children = new Set<ChildProcess>()
  const run = (program: string, args: string[]): ChildProcess => {
    const env = { PATH: `${bin}:${process.env.PATH}`, LC_ALL: 'C.UTF-8', HOME: folder }
    const child = spawn(program, args, { cwd: folder, env, stdio: ['ignore', log.fd, log.fd], ...user })
    children.add(child)
    return child
  }
  const etcdPort = await freePort()
  const peer = `http://${loopback}:${etcdPort + 1}`
  const client = `http://${loopback}:${etcdPort}`
  run(programs.etcd, [
    ...['--name', 'etcd', '--data-dir', join(folder, 'etcd'), '--unsafe-no-fsync'],
    ...['--listen-client-urls', client, '--advertise-client-urls', client],
    ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer, '--initial-cluster', `etcd=${peer}`],
  ])
  const settings = await readSettings()
  const nodes: Node[] = []
  const watchdogs = new Map<Node, Watchdog>()
  for (const name of ['node0', 'node1', 'node2']) {
    const node = { name, port: await freePort(), restPort: await freePort(), data: join(folder, name) }
    nodes.push(node)
    await mkdir(node.data, { mode: 0o700 })
    if (user) await chown(node.data, user.uid, user.gid)
    const device = join(folder, `${name}.watchdog`)
    if (onReset) {
      const reset = () => {
        onReset(name)
        void patroni.restart(node)
      }
      watchdogs.set(node, await openWatchdog(device, user, reset))
    }
    const watchdog = { mode: onReset ? 'required' : 'off', driver: 'testing', device }
    const config = configOf(node, { etcdPort, bin, folder, settings, watchdog })
    await writeFile(join(folder, `${name}.yml`), JSON.stringify(config))
  }
  const agents = new Map<Node, ChildProcess>()
  const startAgent = (node: Node) => {
    // What the ended agent wrote last must not set off the watchdog.
    watchdogs.get(node)?.disarm()
    agents.set(node, run(program ?? programs.patroni, [join(folder, `${node.name}.yml`)]))
  }
  nodes.forEach(startAgent)
  const port = await freePort()
  await writeFile(join(folder, 'haproxy.cfg'), await haproxyConfig(port, nodes))
  run(programs.haproxy, ['-db', '-f', join(folder, 'haproxy.cfg')])

  // Each node is asked directly: its information about another one may be as old as the other's lease.
  const is = ({ restPort }: Node, role: 'primary' | 'replica' | 'synchronous'): Promise<boolean> =>
    fetch(`http://${loopback}:${restPort}/${role}`, { signal: AbortSignal.timeout(2000) }).then(
      ({ ok }) => ok,
      () => false,
    )
  const those = async (role: Parameters<typeof is>[1]): Promise<Node[]> => {
    const found = await Promise.all(nodes.map((node) => is(node, role)))
    return nodes.filter((_, i) => found[i])
  }
  const whole = async (limitMs = limit(240_000)): Promise<Node> => {
    for (const deadline = Date.now() + limitMs; Date.now() < deadline; await sleep(250)) {
      const [leader] = await those('primary')
      const [replicas, synchronous] = [await those('replica'), await those('synchronous')]
      if (leader && replicas.length === 2 && synchronous.length === 1) return leader
    }
    throw new Error(`Patroni's cluster did not become whole, see ${logFile}`)
  }
  let closed = false
  const halt = async (node: Node): Promise<void> => {
    watchdogs.get(node)?.disarm()
    // The agent ends first: it would start the server again.
    agents.get(node)!.kill('SIGKILL')
    for (const pid of await patroni.postgres(node)) kill(pid, 'SIGKILL')
  }
  const patroni: Patroni = {
    /** Leads to the leader through HAProxy. */
    url: `postgres://svc@${loopback}:${port}/postgres`,
    get faults() {
      return patroniFaults(patroni)
    },
    whole,
    async switchover(leader) {
      await fetch(`http://${loopback}:${leader.restPort}/switchover`, {
        method: 'POST',
        body: JSON.stringify({ leader: leader.name }),
        signal: AbortSignal.timeout(limit(30_000)),
      })
    },
    async postgres({ data }) {
      const postmaster = Number((await readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n')[0])
      if (!postmaster) return []
      const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
      const parents = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')))
      // pid (name) state parent …
      return [
        postmaster,
        ...pids.filter((_, i) => /\) \w (\d+)/.exec(parents[i]!)?.[1] === String(postmaster)).map(Number),
      ]
    },
    agent: (node) => agents.get(node)!,
    async restart(node) {
      await halt(node)
      await sleep(restartMs)
      if (!closed) startAgent(node)
    },
    log: () => readFile(logFile, 'utf8'),
    async close() {
      closed = true
      await Promise.all(nodes.map(halt))
      for (const watchdog of watchdogs.values()) watchdog.close()
      for (const child of children) {
        if (child.exitCode !== null || child.signalCode !== null) continue
        const exited = once(child, 'exit')
        child.kill('SIGKILL')
        await exited
      }
      await log.close()
      await rm(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
  process.once('exit', () => {
    for (const child of children) child.kill('SIGTERM')
  })
  try {
    await whole()
    return patroni
  } catch (error) {
    await patroni.close()
    throw error
  }
}
