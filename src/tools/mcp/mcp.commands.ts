import { type CommandSet, examples } from '../../cli/command.ts'
import { printable } from '../../cli/output.ts'

/** `svc mcp` (docs/mcp.md). */
export const commands: CommandSet = (cli) => {
  cli
    .noun('mcp')
    .addHelpText('after', examples('svc mcp --account Shop', 'svc mcp --account Shop --write'))
    .option('--write', 'offer the tools that change data, too')
    .action(
      cli.run(async (context, { write }: { write?: boolean }) => {
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
      }),
    )
}
