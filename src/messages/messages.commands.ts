import { type CommandSet, type Context, paged } from '../cli/command.ts'
import { readInput } from '../cli/input.ts'
import type { Column } from '../cli/output.ts'
import type { PageFlags } from '../lib/page.ts'
import { Problem } from '../lib/problem.ts'
import type { MessageView } from './messages.ts'

const columns: Column<MessageView>[] = [
  ['ID', (message) => message.id],
  ['TO', (message) => message.to],
  ['STATUS', (message) => message.status],
  ['REASON', (message) => message.reason ?? message.error],
  ['TYPE', (message) => message.type],
  ['SUBJECT', (message) => message.subject],
  ['CREATED', (message) => new Date(message.createdAt)],
]

interface SendFlags {
  to?: string
  project?: string
  data?: string[]
  subject?: string
  html?: string
  text?: string
  type?: string
  from?: string
  sender?: string
  replyTo?: string
}

const alsoThese = (value: string, before: string[] = []): string[] => [...before, value]

const mergeDataOf = (pairs: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=')
      if (at < 1) throw new Problem('usage', `--data takes name=value, not ${pair}`)
      return [pair.slice(0, at), pair.slice(at + 1)]
    }),
  )

/** `Name <address>`, or the address alone. */
const fromOf = (text: string): { email: string; name?: string } => {
  const [, name, email] = /^\s*(.*?)\s*<([^<>]+)>\s*$/.exec(text) ?? []
  return email ? { email, ...(name && { name: name.replace(/^"(.*)"$/, '$1') }) } : { email: text }
}

const bodyOf = async ({ require }: Context, flags: SendFlags): Promise<object> => {
  const { project, subject, type, from, sender, replyTo } = flags
  if (project !== undefined && (flags.html !== undefined || flags.text !== undefined))
    throw new Problem('usage', 'Give --project, or --html and --text, not both')
  const { to } = await require({
    to: flags.to,
    ...(project === undefined && { subject, html: flags.html, text: flags.text }),
  })
  const common = { to, type, from: from && fromOf(from), senderId: sender, replyTo, subject }
  if (project !== undefined) return { ...common, projectId: project, mergeData: mergeDataOf(flags.data ?? []) }
  if (flags.html === '-' && flags.text === '-')
    throw new Problem('usage', 'Only one of --html and --text can be read from stdin')
  return { ...common, html: await readInput(flags.html!, '--html'), text: await readInput(flags.text!, '--text') }
}

const send: CommandSet = (cli) => {
  cli
    .noun('send')
    .option('--to <email>', 'its one recipient')
    .option('--project <id|name>', 'the project that it is rendered of')
    .option('--data <name=value>', 'a merge field of the project', alsoThese)
    .option('--subject <subject>', 'left out: the name of the project')
    .option('--html <file|->', 'the HTML part, sent as it is')
    .option('--text <file|->', 'the text part')
    .option('--type <type>', 'transactional (else) or marketing')
    .option('--from <address>', 'such as "The Shop <hello@shop.example>"; left out: the default sender')
    .option('--sender <id>', 'one of svc senders list')
    .option('--reply-to <email>', 'where answers go')
    .action(
      cli.run(async (context, flags: SendFlags) => {
        const { app, account, actor, out, exit, work } = context
        const input = await bodyOf(context, flags)
        const [{ SendBody, sendMessage }, { parse }] = await Promise.all([
          import('./messages.ts'),
          import('../lib/parse.ts'),
        ])
        const body = parse(SendBody, input)
        const { projectId } = body
        if (projectId !== undefined) {
          const { findProject } = await import('../studio/studio.ts')
          body.projectId = (await work((w) => findProject(w, projectId))).id
        }
        const { result } = await sendMessage(app, (await account()).id, body, { actor, countsCall: false })
        out.one(result)
        if (result.status === 'failed') exit(1)
      }),
    )
}

interface ListFlags extends PageFlags {
  status?: string
  to?: string
  since?: string
}

const sends: CommandSet = (cli) => {
  const noun = cli.noun('sends')

  paged(
    noun
      .command('list', { isDefault: true })
      .description('List mails, newest first')
      .option('--status <status>', 'pending, sent, failed or suppressed')
      .option('--to <email>', 'to this address')
      .option('--since <age|time>', 'made since, such as 2h or 2026-11-20T08:00:00Z'),
  ).action(
    cli.run(async ({ app, pages, work }, flags: ListFlags) => {
      const [{ listMessages, SendResult }, { parse }, { parseSince }, { normalizeEmail }, { idAt }, { z }] =
        await Promise.all([
          import('./messages.ts'),
          import('../lib/parse.ts'),
          import('../lib/since.ts'),
          import('../lib/email.ts'),
          import('../lib/ids.ts'),
          import('zod'),
        ])
      const { status } = parse(z.object({ status: SendResult.shape.status.nullable() }), {
        status: flags.status ?? null,
      })
      const sinceId = flags.since ? idAt('msg', parseSince(flags.since, app.now().getTime())) : null
      const filter = { status, email: flags.to ? normalizeEmail(flags.to) : null, sinceId }
      await pages('sends', flags, (page) => work((w) => listMessages(w, filter, page)), columns)
    }),
  )

  noun
    .command('show')
    .description('Show a mail with what it was made of')
    .argument('<id>')
    .action(
      cli.run(async ({ out, work }, id: string) => {
        const { showMessage } = await import('./messages.ts')
        out.one(await work((w) => showMessage(w, id)))
      }),
    )
}

/** `svc send` and `svc sends` */
export const commands: CommandSet = (cli) => {
  send(cli)
  sends(cli)
}
