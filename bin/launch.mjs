// What an installed `svc` starts with: plain JavaScript for every Node from 20 on. svc itself runs on the Node that it brings.
import { spawn } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { createRequire } from 'node:module'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const needed = 26

/** @returns {string | undefined} The Node that was installed with svc. */
const ownNode = () => {
  try {
    const file = join(dirname(createRequire(import.meta.url).resolve('node/package.json')), 'bin/node')
    return existsSync(file) ? realpathSync(file) : undefined
  } catch {
    return undefined
  }
}

/**
 * Runs the program in a process of its own, and ends as it ended. Signals are handed on; a terminal tells both, which
 * counts as one keystroke (src/cli/interruption.ts).
 *
 * @param {string} node
 * @param {string} program
 */
const runWith = (node, program) => {
  const child = spawn(node, [program, ...process.argv.slice(2)], { stdio: 'inherit' })
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, () => child.kill(name))
  child.on('exit', (status, signal) => process.exit(status ?? 128 + constants.signals[signal]))
}

/**
 * In a checkout the source is run, in an installed package what was built of it.
 *
 * @param {'svc' | 'svcd'} name
 */
export const launch = async (name) => {
  const program = [`./${name}.ts`, `../dist/bin/${name}.js`]
    .map((file) => fileURLToPath(new URL(file, import.meta.url)))
    .find(existsSync)
  if (Number.parseInt(process.versions.node, 10) >= needed) return import(program)
  const node = ownNode()
  if (node) return runWith(node, program)
  process.stderr.write(
    `error: svc needs Node ${needed}, and the one that is installed with it is missing\n  next: npm rebuild node, or run svc with Node ${needed}\n`,
  )
  process.exitCode = 4
}
