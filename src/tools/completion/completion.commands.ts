import { type CommandSet, examples } from '../../cli/command.ts'
import { invocation } from '../../cli/next.ts'
import { Problem } from '../../lib/problem.ts'
import type { Shell } from '../closed-values.ts'

/** `svc completion bash|zsh|fish`, and the hidden command that their scripts call at each tab (docs/reference/cli.md#status-doctor-and-config). */
export const commandsOf =
  (loadCommands: (args: readonly string[]) => Promise<CommandSet[]>): CommandSet =>
  (cli) => {
    const noun = cli
      .noun('completion')
      .addHelpText(
        'after',
        examples('source <(svc completion bash)', 'svc completion fish > ~/.config/fish/completions/svc.fish'),
      )
      .argument('[shell]', 'bash, zsh or fish')
      .action(
        cli.run(
          async ({ out }, shell?: string) => {
            const { scripts } = await import('./completion.scripts.ts')
            const shells = Object.keys(scripts) as Shell[]
            const known = shells.find((name) => name === shell)
            if (!known)
              throw new Problem('usage', `The shell must be one of ${shells.join(', ')}`, {
                hint: 'svc completion bash',
              })
            if (out.format === 'json' || out.format === 'jsonl') out.one({ shell: known, script: scripts[known] })
            else out.line(scripts[known].trimEnd())
            if (invocation() !== 'svc')
              out.note(
                'The script completes svc, which is not on the PATH yet: run npm link in its folder, or npm install -g',
              )
          },
          { app: 'none' },
        ),
      )

    noun
      .command('words', { hidden: true })
      .description('Print completions of the last word, for the scripts')
      .argument('[words...]')
      .action(
        cli.run(
          async ({ out }, words: string[]) => {
            const [{ buildProgram }, { complete }, { closedValues }] = await Promise.all([
              import('../../cli/program.ts'),
              import('../../cli/complete.ts'),
              import('../closed-values.ts'),
            ])
            const program = buildProgram(await loadCommands(words.slice(0, -1)), () =>
              Promise.reject(new Error('not opened')),
            )
            const found = complete(program, words, closedValues)
            if (out.format === 'json') out.one({ words: found })
            else for (const { value, about } of found) out.line(about ? `${value}\t${about}` : value)
          },
          { app: 'none' },
        ),
      )
  }
