import type { CommandSet } from '../../cli/command.ts'
import { Problem } from '../../lib/problem.ts'

/** `svc completion bash|zsh|fish`, and what their scripts ask at each tab (cli.md, Conventions). */
export const commands: CommandSet = (cli) => {
  const noun = cli
    .noun('completion')
    .argument('[shell]', 'bash, zsh or fish')
    .action(
      cli.run(
        async ({ out }, shell?: string) => {
          const { scripts, shells } = await import('./completion.scripts.ts')
          const known = shells.find((name) => name === shell)
          if (!known)
            throw new Problem('usage', `The shell must be one of ${shells.join(', ')}`, { hint: 'svc completion bash' })
          if (out.format === 'json' || out.format === 'jsonl') out.one({ shell: known, script: scripts[known] })
          else out.line(scripts[known].trimEnd())
        },
        { app: 'none' },
      ),
    )

  noun
    .command('words', { hidden: true })
    .description('What may stand at the end of a command line, for the scripts')
    .argument('[words...]')
    .action(
      cli.run(
        async ({ out }, words: string[]) => {
          const [{ buildProgram }, { complete }, { closedValues }, { loadCommands }] = await Promise.all([
            import('../../cli/program.ts'),
            import('../../cli/complete.ts'),
            import('./completion.values.ts'),
            import('../commands.ts'),
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
