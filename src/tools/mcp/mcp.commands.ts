import { type CommandList, command } from '../../cli/define.ts'
import { present } from '../../cli/flags.ts'
import { printable } from '../../cli/output.ts'

/** The command `svc mcp` (docs/mcp.md). */
export const commands: CommandList = [
  command({
    path: 'mcp',
    examples: ['svc mcp --account Shop', 'svc mcp --account Shop --write'],
    flags: { write: present('offer the tools that change data, too') },
    run: async (context, { write }) => {
      const { account, app, actor, out, signal } = context
      const { id, name } = await account()
      const { serveTools } = await import('./mcp.ts')
      if (process.stdin.isTTY)
        out.note(
          `This speaks the Model Context Protocol, for programs (docs/mcp.md): account ${printable(name)}. Press Ctrl-C to stop.`,
        )
      const session = { app, account: { id, name }, actor: actor.replace(/^cli:/, 'mcp:'), isWriter: write === true }
      await serveTools(session, signal, out.note)
      // A client ends its servers by closing stdin or by SIGTERM: both are the normal end.
      context.exit(0)
    },
  }),
]
