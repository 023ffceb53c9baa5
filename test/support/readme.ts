import { spawn } from 'node:child_process'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { svc } from './cli.ts'

/** What stands in the blocks of one language: a command or line each, without its remark, by block. */
export const blocksOf = (readme: string, language: string): string[][] =>
  [...readme.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]+?)\`\`\``, 'g'))].map(([, text]) =>
    text!
      .replaceAll(/\\\n\s*/g, '')
      .split('\n')
      .map((line) => line.replace(/\s{2,}#.*$/, ''))
      .filter(Boolean),
  )

export interface ShellRan {
  status: number | null
  /** stdout and stderr together. */
  text: string
}

export interface Shell {
  /** Runs a line of bash, after `before`, in the shell's folder. */
  run(line: string, env: Record<string, string>, before?: readonly string[]): Promise<ShellRan>
  close(): void
}

// What `svc` and `npx` are in that shell: the words as bash gives them go to a host of commands, its answer comes back.
const shim = (socket: string) => `#!${process.execPath}
import { connect } from 'node:net'
const args = process.argv.slice(process.argv[1].endsWith('npx') ? 3 : 2)
const socket = connect(${JSON.stringify(socket)})
socket.write(JSON.stringify({ args, env: process.env, cwd: process.cwd() }) + '\\n')
let text = ''
for await (const part of socket.setEncoding('utf8')) text += part
const { status, stdout, stderr } = JSON.parse(text)
process.stdout.write(stdout)
process.stderr.write(stderr)
process.exitCode = status
`

const answer = async (socket: Socket): Promise<void> => {
  let text = ''
  for await (const part of socket.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    text += part
    if (text.endsWith('\n')) break
  }
  const { args, env, cwd } = JSON.parse(text)
  socket.end(JSON.stringify(await svc({ env: {} }, args, { env, cwd })))
}

/** A real bash in `folder`, in which `svc` and `npx svc` run in a process that has the CLI's modules loaded. */
export const openShell = async (folder: string): Promise<Shell> => {
  const bin = join(folder, 'bin')
  const socket = join(bin, 'socket')
  await mkdir(bin)
  // Node takes a file without an extension for a module where its package says so.
  await writeFile(join(bin, 'package.json'), '{"type":"module"}')
  for (const name of ['svc', 'npx']) {
    await writeFile(join(bin, name), shim(socket))
    await chmod(join(bin, name), 0o755)
  }
  const server = createServer((opened) => void answer(opened)).listen(socket)
  const run: Shell['run'] = (line, env, before = []) =>
    new Promise((resolve, reject) => {
      const child = spawn('bash', ['-euo', 'pipefail', '-c', [...before, line].join('\n')], {
        cwd: folder,
        env: { PATH: `${bin}:${process.env.PATH}`, HOME: folder, ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      let text = ''
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding('utf8').on('data', (part) => {
          text += part
        })
      child.on('error', reject)
      child.on('close', (status) => resolve({ status, text }))
    })
  return { run, close: () => server.close() }
}
