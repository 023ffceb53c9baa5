// Compares the lockfile with known advisories: those of npm's registry or, if it is unreachable, those of OSV. Exit statuses:
// 0: no known advisory. 1: known advisories. 3: neither source was reachable, so nothing was compared.
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'

const limitMs = 60_000
const atOnce = 500
/** @param {string} line */
const say = (line) => void process.stdout.write(`${line}\n`)

const osv = process.env.OSV_URL ?? 'https://api.osv.dev'

/** @returns {Promise<string[]>} */
const askNpm = () =>
  new Promise((resolve, reject) => {
    execFile('npm', ['audit', '--json'], { timeout: limitMs, maxBuffer: 2 ** 26 }, (_, stdout) => {
      try {
        const { vulnerabilities, message, error: refusal } = JSON.parse(stdout)
        if (!vulnerabilities) throw new Error(message ?? refusal?.summary ?? 'the report is empty')
        resolve(
          Object.values(vulnerabilities).map(
            ({ name, severity, via }) =>
              `${name} (${severity}): ${via.map((/** @type {any} */ one) => one.url ?? one).join(', ')}`,
          ),
        )
      } catch (error) {
        reject(error)
      }
    })
  })

/** @returns {Promise<string[]>} */
const askOsv = async () => {
  const { packages } = JSON.parse(await readFile('package-lock.json', 'utf8'))
  const queries = Object.entries(packages).flatMap(([path, { version, link }]) => {
    const name = path.split('node_modules/').at(-1)
    return path.includes('node_modules/') && version && !link ? [{ package: { name, ecosystem: 'npm' }, version }] : []
  })
  const found = []
  for (let at = 0; at < queries.length; at += atOnce) {
    const asked = queries.slice(at, at + atOnce)
    const body = JSON.stringify({ queries: asked })
    const response = await fetch(`${osv}/v1/querybatch`, { method: 'POST', body, signal: AbortSignal.timeout(limitMs) })
    if (!response.ok) throw new Error(`it answered ${response.status}`)
    const { results } = await response.json()
    for (const [i, { vulns = [] }] of results.entries())
      for (const { id } of vulns) found.push(`${asked[i]?.package.name} ${asked[i]?.version}: ${id}`)
  }
  return found
}

const audit = async () => {
  for (const [name, ask] of /** @type {const} */ ([
    ['npm', askNpm],
    ['OSV', askOsv],
  ])) {
    try {
      const found = await ask()
      for (const line of found) say(line)
      say(`${found.length} known advisories, by ${name}`)
      return found.length > 0 ? 1 : 0
    } catch (error) {
      say(`${name} is unavailable: ${/** @type {Error} */ (error).message}`)
    }
  }
  say('Nothing was compared: no source of advisories is reachable.')
  return 3
}

process.exitCode = await audit()
