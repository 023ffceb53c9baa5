// The entry point of an installed `svc`: plain JavaScript that any Node from 20 on can run. svc itself runs on the Node that
// is one of its dependencies.
import { spawn } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
import { createRequire } from 'node:module'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { prepareProcess } from './prepare.mjs'

const needed = 26

/** @returns {string | undefined} The path of the Node that was installed with svc. */
const ownNode = () => {
  try {
    const file = join(dirname(createRequire(import.meta.url).resolve('node/package.json')), 'bin/node')
    return existsSync(file) ? realpathSync(file) : undefined
  } catch {
    return undefined
  }
}

/**
 * Runs the program in a child process, and exits with its status. Signals are forwarded. A terminal also signals the child
 * directly; src/cli/interruption.ts counts both signals as one keystroke. If this process is killed, the IPC
 * channel closes and the child ends.
 *
 * @param {string} node
 * @param {string} program
 */
const runWith = (node, program) => {
  // The path that was typed, for the commands that svc suggests (src/cli/next.ts).
  const env = { ...process.env, SVC_STARTED_AS: process.argv[1] }
  const child = spawn(node, [program, ...process.argv.slice(2)], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env,
  })
  for (const name of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) process.on(name, () => child.kill(name))
  child.on('exit', (status, signal) =>
    process.exit(status ?? 128 + constants.signals[/** @type {NodeJS.Signals} */ (signal)]),
  )
}

/**
 * Starts the program: the source in a checkout, the build in an installed package.
 *
 * @param {'svc' | 'svcd'} name
 */
export const launch = async (name) => {
  const program = [`./${name}.ts`, `../dist/bin/${name}.js`]
    .map((file) => fileURLToPath(new URL(file, import.meta.url)))
    .find((file) => existsSync(file))
  if (!program) throw new Error(`${name} is not built: npm run build`)
  if (Number.parseInt(process.versions.node, 10) >= needed) {
    prepareProcess()
    return import(program)
  }
  const node = ownNode()
  if (node) return runWith(node, program)
  process.stderr.write(
    `error: svc needs Node ${needed}, and the one that is installed with it is missing\n  next: npm rebuild node, or run svc with Node ${needed}\n`,
  )
  process.exitCode = 4
}
