import { type ChildProcessWithoutNullStreams, execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { spawnInTest } from './children.ts'
import { eventually } from './eventually.ts'
import { waitLimitMs } from './slowness.ts'

const run = promisify(execFile)
const lookMs = 40
/** A look at the screen asks tmux for all of its text; a look for the prompt reads a file. */
const screenMs = 500

export interface Typed {
  status: number
  /** The output on the terminal, from the command on, including text that has scrolled off. */
  text: string
}

export interface Terminal {
  /**
   * Types a line and resolves once the shell shows its prompt again. `answer` returns the keys for a question; a program that
   * uses the whole screen then ends with `q`.
   */
  type(line: string, answer?: (text: string) => string | null): Promise<Typed>
  /** Types a line that keeps running, and resolves once the screen shows `expected`. */
  begin(line: string, expected: RegExp): Promise<string>
  /** Types Ctrl-C; resolves once the shell shows its prompt again. */
  interrupt(): Promise<Typed>
  close(): Promise<void>
}

/** What less shows below a text that is longer than the screen. */
const pagerPrompt = /\n(:|\(END\))$/

interface Size {
  columns: number
  rows: number
}

/**
 * Returns a function that has a client of tmux in its control mode execute a command, and returns what it prints. A process for each
 * command would take 7 ms of CPU time.
 */
const openClient = (client: ChildProcessWithoutNullStreams) => {
  const waiting: PromiseWithResolvers<string>[] = []
  let lines: string[] = []
  /** The line that ends the answer, without the word that says how the command ended. */
  let ends = ''
  const add = (line: string) => {
    const [, word, rest] = /^%(begin|end|error) (.*)$/.exec(line) ?? []
    if (!ends) {
      if (word === 'begin') ends = rest!
    } else if (rest === ends) {
      const { resolve, reject } = waiting.shift()!
      if (word === 'end') resolve(lines.join('\n'))
      else reject(new Error(`tmux: ${lines.join('\n')}`))
      ends = ''
      lines = []
    } else lines.push(line)
  }
  const answer = (): Promise<string> => {
    const one = Promise.withResolvers<string>()
    waiting.push(one)
    return one.promise
  }
  let isOver = false
  createInterface(client.stdout).on('line', add)
  client.on('close', () => {
    isOver = true
    for (const { reject } of waiting) reject(new Error('tmux has ended'))
  })
  const opened = answer()
  return async (command: string): Promise<string> => {
    await opened
    if (isOver) throw new Error('tmux has ended')
    client.stdin.write(`${command}\n`)
    return answer()
  }
}

/** A bash on a terminal of that size, in tmux. `name` must be unique in the folder. */
export const openTerminal = async (
  name: string,
  { columns, rows }: Size,
  folder: string,
  env: Record<string, string>,
): Promise<Terminal> => {
  const here = ['-L', name, '-f', '/dev/null']
  // Otherwise tmux runs the user's shell, and system users such as `nobody` have none.
  const given = { ...env, TMUX_TMPDIR: folder, SHELL: '/bin/sh' }
  // Its server would outlive a test that fails.
  const server = spawnInTest('tmux', [...here, '-D'], { env: given })
  const statuses = join(folder, `.statuses-${name}`)
  const rc = join(folder, `.bashrc-${name}`)
  await writeFile(statuses, '')
  await writeFile(rc, `PS1='$ '\nPROMPT_COMMAND='echo $? >> ${statuses}'\n`)
  const size = ['-x', String(columns), '-y', String(rows)]
  const session = ['new-session', '-d', ...size, '-c', folder, `bash --noprofile --rcfile ${rc}`]
  await eventually(() =>
    run('tmux', [...here, '-N', ...session], { env: given })
      .then(() => true)
      .catch(() => false),
  )
  const tmux = openClient(spawnInTest('tmux', [...here, '-N', '-C', 'attach', '-f', 'no-output'], { env: given }))
  let prompts = 0
  const read = async () => (await readFile(statuses, 'utf8')).trim().split('\n').filter(Boolean)
  const isBack = async () => (await read()).length > prompts
  const shown = async () => (await tmux('capture-pane -p -S -')).trimEnd()
  /** Whether a program uses the whole screen. */
  const isTaken = async () => (await tmux('display-message -p "#{alternate_on}"')) === '1'
  /** Returns the settled screen of a program that uses the whole screen, and ends it with `q`. */
  const leaveScreen = async (): Promise<string> => {
    // It is drawn when two looks show the same.
    let screen = ''
    for (let before: string; ; ) {
      before = screen
      await sleep(screenMs)
      screen = (await tmux('capture-pane -p')).trimEnd()
      if (screen !== '' && screen === before) break
      if (!(await isTaken())) break
    }
    if (await isTaken()) await tmux('send-keys q')
    return screen
  }
  const back = async (answer?: (text: string) => string | null, limitMs = waitLimitMs): Promise<Typed> => {
    const endsAt = performance.now() + limitMs
    let screen = ''
    for (let looks = 1; !(await isBack()); looks++) {
      await sleep(lookMs)
      if (performance.now() > endsAt) throw new Error(`No prompt comes back:\n${await shown()}`)
      if ((looks * lookMs) % screenMs >= lookMs) continue
      const [isScreen, text] = await Promise.all([isTaken(), shown()])
      if (answer && isScreen) {
        const left = await leaveScreen()
        if (left) screen = `${left}\n`
        continue
      }
      // A pager keeps what it shows on the main screen. How long a list is depends on what happened before.
      const keys = pagerPrompt.test(text) ? 'q' : answer?.(text)
      if (keys) await tmux(`send-keys ${keys}`)
    }
    const list = await read()
    prompts = list.length
    // The prompt is drawn after the end of its command.
    await sleep(lookMs)
    return { status: Number(list.at(-1)), text: screen + (await shown()).replace(/\n\$$/, '') }
  }
  const enter = async (line: string) => {
    // As numbers, the characters that tmux would interpret are typed, too.
    const typed = [...Buffer.from(line)].map((byte) => byte.toString(16)).join(' ')
    await Promise.all([tmux('send-keys -R'), tmux('clear-history'), tmux(`send-keys -H ${typed} d`)])
  }
  await back()
  return {
    async type(line, answer) {
      await enter(line)
      return back(answer)
    },
    async begin(line, expected) {
      await enter(line)
      const endsAt = performance.now() + waitLimitMs
      for (;;) {
        const text = await shown()
        if (expected.test(text)) return text
        if ((await isBack()) || performance.now() > endsAt) throw new Error(`${line} does not go on:\n${text}`)
        await sleep(screenMs)
      }
    },
    async interrupt() {
      await tmux('send-keys C-c')
      return back()
    },
    async close() {
      server.kill()
      await once(server, 'exit')
    },
  }
}
