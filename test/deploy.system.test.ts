import { execFile, spawnSync } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { createMetrics } from '../src/app/daemon/daemon.metrics.ts'
import { createCounters } from '../src/lib/counters.ts'
import { svc } from './support/cli.ts'
import { needs } from './support/needs.ts'

/* Checks the files of docs/deploy with the tools that read them, if these are installed. systemd.test.ts checks the unit. */

const run = promisify(execFile)
const deploy = join(import.meta.dirname, '../docs/deploy')
const read = (file: string): Promise<string> => readFile(join(deploy, file), 'utf8')
const works = (...command: string[]): boolean => spawnSync(command[0]!, command.slice(1)).status === 0

interface Rule {
  alert: string
  expr: string
  labels: { severity: string }
  annotations: { summary: string; description: string }
}

interface Panel {
  id: number
  title: string
  type: string
  gridPos: { x: number; y: number; w: number; h: number }
  targets: { refId: string; expr: string }[]
}

interface Service {
  environment?: Record<string, string>
  env_file?: string
  depends_on?: Record<string, { condition: string }>
  volumes?: string[]
  read_only?: boolean
  cap_drop?: string[]
  security_opt?: string[]
  healthcheck?: { test?: string[] }
  build?: { context: string; dockerfile: string }
}

let folder: string
let rules: Rule[]
let dashboard: { uid: string; title: string; schemaVersion: number; panels: Panel[] }
let compose: { services: Record<string, Service>; volumes: Record<string, unknown> }

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-deploy-'))
  rules = parse(await read('alerts.yaml')).groups.flatMap((group: { rules: Rule[] }) => group.rules)
  dashboard = JSON.parse(await read('dashboard.json'))
  compose = parse(await read('compose.yaml'), { merge: true })
})
afterAll(() => rm(folder, { recursive: true, force: true }))

test('every file is documented', async () => {
  const pages = await Promise.all(['install', 'operate'].map((page) => readFile(join(deploy, `../${page}.md`), 'utf8')))
  for (const file of await readdir(deploy)) expect(pages.join('\n')).toContain(`(deploy/${file})`)
})

describe('alerts and dashboard', () => {
  const panelExpressions = () => dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))

  test('use only metrics that /metrics has', async () => {
    const { text } = await createMetrics({ counters: createCounters(), queues: async () => [] }).read()
    const exported = new Set(
      [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].flatMap(([, name, type]) =>
        type === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => name + end) : [name!],
      ),
    )
    const named = [...rules.map(({ expr }) => expr), ...panelExpressions()].flatMap((expr) =>
      [...expr.matchAll(/\b(?:svc|nodejs|process)_\w+/g)].map(([name]) => name),
    )
    expect(named.length).toBeGreaterThan(20)
    expect(named.filter((name) => !exported.has(name))).toEqual([])
    // Every metric of ours is on the dashboard.
    const shown = panelExpressions().join('\n')
    const own = [...text.matchAll(/^# TYPE (svc_\w+) /gm)].map(([, name]) => name!)
    expect(own.length).toBeGreaterThan(8)
    expect(own.filter((name) => !shown.includes(name))).toEqual([])
  })

  test('an alert has a severity, and states what happened and what to do', () => {
    for (const { alert, labels, annotations } of rules) {
      expect(['critical', 'warning'], alert).toContain(labels.severity)
      expect(annotations, alert).toEqual({ summary: expect.any(String), description: expect.any(String) })
    }
  })

  test('commands in alerts exist', async () => {
    const commands = rules.flatMap(({ annotations }) => [...annotations.description.matchAll(/"svc ([^"]+)"/g)])
    expect(commands.length).toBeGreaterThan(4)
    for (const [, words] of commands) {
      const { status } = await svc({ env: {} }, [...words!.split(' --')[0]!.split(' '), '--help'])
      expect(status, words).toBe(0)
    }
  })

  test('the dashboard has the shape that Grafana imports, and its panels do not overlap', () => {
    expect(dashboard).toMatchObject({ uid: 'svc-overview', title: 'svc', schemaVersion: expect.any(Number) })
    const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, n) => `${x + (n % w)},${y + Math.floor(n / w)}`),
    )
    expect(new Set(cells).size).toBe(cells.length)
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length)
    for (const { title, type, gridPos, targets } of dashboard.panels) {
      expect(['stat', 'timeseries'], title).toContain(type)
      expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(24)
      expect(new Set(targets.map(({ refId }) => refId)).size, title).toBe(targets.length)
    }
  })

  describe('by Prometheus itself', needs('promtool'), () => {
    const check = (file: string) => run('promtool', ['check', 'rules', file])

    test('the alerts are valid', async () => {
      expect((await check(join(deploy, 'alerts.yaml'))).stdout).toContain(`SUCCESS: ${rules.length} rules found`)
    })

    test('the expressions of the dashboard are valid', async () => {
      const filled = panelExpressions().map((expr) =>
        expr.replaceAll('$__rate_interval', '5m').replaceAll('$job', 'svc'),
      )
      const group = { name: 'dashboard', rules: filled.map((expr, n) => ({ record: `panel:${n}`, expr })) }
      const file = join(folder, 'dashboard.yaml')
      // JSON is valid YAML.
      await writeFile(file, JSON.stringify({ groups: [group] }))
      expect((await check(file)).stdout).toContain(`SUCCESS: ${filled.length} rules found`)
    })

    test('promtool detects an invalid expression', async () => {
      const file = join(folder, 'broken.yaml')
      await writeFile(file, (await read('alerts.yaml')).replace('up{job="svc"} == 0', 'up{job="svc" == 0'))
      await expect(check(file)).rejects.toThrow('parse error')
    })

    test('an alert fires after its time, with the job that is down', async () => {
      const series = 'svc_job_up{job="svc", exported_job="mail", instance="a:4800"}'
      const labels = { severity: 'critical', job: 'svc', exported_job: 'mail', instance: 'a:4800' }
      const summary = 'The job mail on a:4800 is down or stalled'
      const { description } = rules.find(({ alert }) => alert === 'SvcJobDown')!.annotations
      const alert = (eval_time: string, fires: boolean) => ({
        eval_time,
        alertname: 'SvcJobDown',
        exp_alerts: fires ? [{ exp_labels: labels, exp_annotations: { summary, description } }] : [],
      })
      const file = join(folder, 'alerts.test.yaml')
      const tests = [
        {
          interval: '1m',
          input_series: [{ series, values: '1 1 0x20' }],
          alert_rule_test: [alert('5m', false), alert('8m', true)],
        },
      ]
      await writeFile(file, JSON.stringify({ rule_files: [join(deploy, 'alerts.yaml')], tests }))
      await run('promtool', ['test', 'rules', file])
    })
  })
})

describe('containers', () => {
  /** The variables that docs/install.md writes into .env. */
  const envOf = (guide: string): string[] => {
    const [, format] = /printf '(POSTGRES_PASSWORD=[^']+)'/.exec(guide)!
    return format!.split('\\n').flatMap((line) => /^(\w+)=/.exec(line)?.[1] ?? [])
  }

  test('compose.yaml needs exactly the variables that docs/install.md writes', async () => {
    const needed = [...(await read('compose.yaml')).matchAll(/\$\{(\w+)/g)].map(([, name]) => name!)
    const written = envOf(await readFile(join(deploy, '../install.md'), 'utf8'))
    expect([...new Set(needed)].sort()).toEqual(written.sort())
  })

  test('the containers of svc in compose.yaml get every setting of .env, such as SVC_TRUST_PROXY', () => {
    const { database, ...own } = compose.services
    expect(Object.values(own).map(({ env_file }) => env_file)).toEqual(['.env', '.env'])
    expect(database).not.toHaveProperty('env_file')
  })

  test('compose.yaml refers only to its own services and volumes, and to files that exist', async () => {
    const { services, volumes } = compose
    expect(Object.keys(services).sort()).toEqual(['database', 'migrate', 'svc'])
    for (const [name, { depends_on, volumes: mounts, build }] of Object.entries(services)) {
      for (const [other, { condition }] of Object.entries(depends_on ?? {})) {
        expect(Object.keys(services), name).toContain(other)
        if (condition === 'service_healthy') expect(services[other]!.healthcheck?.test, other).toBeDefined()
      }
      for (const mount of mounts ?? []) expect(Object.keys(volumes), name).toContain(mount.split(':')[0])
      if (build) await readFile(join(deploy, build.context, build.dockerfile))
    }
  })

  test('no container of compose.yaml can gain privileges or write outside its volumes', () => {
    for (const [name, { read_only, cap_drop, security_opt }] of Object.entries(compose.services))
      expect({ name, read_only, cap_drop, security_opt }).toEqual({
        ...{ name, read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] },
      })
  })

  test('the containers of svc in compose.yaml keep the list of erasures in one volume', () => {
    for (const name of ['svc', 'migrate']) {
      const { environment, volumes: mounts = [] } = compose.services[name]!
      const file = String(environment!.SVC_ERASURES_FILE)
      expect([name, mounts.map((mount) => mount.split(':'))]).toEqual([name, [['data', file.replace(/\/[^/]+$/, '')]]])
    }
  })

  test('compose.yaml and the Dockerfile set only settings that exist', async () => {
    const { json } = await svc({ env: {} }, ['config', '--json'])
    const known = (json.settings as { name: string }[]).map(({ name }) => name)
    const image = [...(await read('Dockerfile')).matchAll(/\b(SVC_\w+)=/g)].map(([, name]) => name!)
    expect(image.length).toBe(3)
    const given = [...image, ...Object.keys(compose.services.svc!.environment!)]
    expect(given.filter((name) => !known.includes(name))).toEqual([])
  })

  test('the health check of the image succeeds only if /readyz answers 200', async () => {
    const [, command] = /^HEALTHCHECK[^[]+(\[.+\])$/m.exec(await read('Dockerfile'))!
    const [, ...args] = JSON.parse(command!.replace(/^CMD /, ''))
    const { createServer } = await import('node:http')
    let status = 200
    const server = createServer((request, response) =>
      response.writeHead(request.url === '/readyz' ? status : 404).end(),
    )
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as { port: number }
    const check = () =>
      run(process.execPath, args, { env: { SVC_PORT: String(port) } }).then(
        () => 0,
        ({ code }) => code,
      )
    expect(await check()).toBe(0)
    status = 503
    expect(await check()).toBe(1)
    await new Promise((resolve) => server.close(resolve))
    expect(await check()).toBe(1)
  })

  test('compose.yaml is valid', needs('docker compose', works('docker', 'compose', 'version')), async () => {
    const names = envOf(await readFile(join(deploy, '../install.md'), 'utf8'))
    const env = { ...process.env, ...Object.fromEntries(names.map((name) => [name, 'x'])) }
    await run('docker', ['compose', '-f', join(deploy, 'compose.yaml'), 'config', '--quiet'], { env })
  })

  test('the Dockerfile is valid', needs('docker buildx', works('docker', 'buildx', 'inspect')), async () => {
    await run('docker', ['build', '--check', '-f', join(deploy, 'Dockerfile'), deploy])
  })
})
