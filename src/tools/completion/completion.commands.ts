import { type CommandList, command } from '../../cli/define.ts'
import { argument } from '../../cli/flags.ts'
import { invocation } from '../../cli/next.ts'
import { Problem } from '../../lib/problem.ts'
import type { Shell } from './completion.scripts.ts'

const shells: readonly Shell[] = ['bash', 'zsh', 'fish']

/** The command `svc completion bash|zsh|fish`, and the hidden command that their scripts call at each tab (docs/reference/cli.md#status-doctor-and-config). */
export const commandsOf = (loadCommands: (args: readonly string[]) => Promise<CommandList[]>): CommandList => [
  command({
    path: 'completion',
    examples: ['source <(svc completion bash)', 'svc completion fish > ~/.config/fish/completions/svc.fish'],
    arguments: [argument('[shell]', 'bash, zsh or fish', { of: shells })],
    app: 'none',
    run: async ({ out }, shell) => {
      const { scripts } = await import('./completion.scripts.ts')
      const known = shells.find((name) => name === shell)
      if (!known)
        throw new Problem('usage', `The shell must be one of ${shells.join(', ')}`, {
          hint: 'svc completion bash',
        })
      if (out.isJson) out.one({ shell: known, script: scripts[known] })
      else out.line(scripts[known].trimEnd())
      if (invocation() !== 'svc')
        out.note(
          'The script completes svc, which is not on the PATH yet: run npm link in its folder, or npm install -g',
        )
    },
  }),

  command({
    path: 'completion words',
    isHidden: true,
    summary: 'Print completions of the last word, for the scripts',
    examples: [],
    arguments: [argument('[words...]')],
    app: 'none',
    run: async ({ out }, words) => {
      const { buildProgram } = await import('../../cli/program.ts')
      const { complete } = await import('../../cli/complete.ts')
      const program = buildProgram(await loadCommands(words.slice(0, -1)), () =>
        Promise.reject(new Error('not opened')),
      )
      const found = await complete(program, words)
      if (out.format === 'json') out.one({ words: found })
      else for (const { value, about } of found) out.line(about ? `${value}\t${about}` : value)
    },
  }),
]
