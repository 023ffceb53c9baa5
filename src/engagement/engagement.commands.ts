import type { Command } from 'commander'
import { type Cli, type CommandSet, type Context, paged } from '../cli/command.ts'
import { type Column, type Output, printable } from '../cli/output.ts'
import type { PageFlags, PageRequest } from '../lib/page.ts'
import type { BlockKind } from './engagement.blocks.ts'
import type { BlockTally, ProjectTally, ResponseView } from './engagement.responses.ts'

const columns: Column<ResponseView>[] = [
  ['WHEN', (response) => new Date(response.at)],
  ['KIND', (response) => response.kind],
  ['BLOCK', (response) => response.blockId],
  [
    'ANSWER',
    ({ value }) => (typeof value === 'object' && value !== null ? JSON.stringify(value) : (value as string | null)),
  ],
  ['EMAIL', (response) => response.email],
  ['SOURCE', ({ source }) => `${source.kind} ${source.id}`],
]

const barWidth = 30

/** `██████▌` of at most 30 columns. */
const bar = (share: number): string => {
  const eighths = Math.round(share * barWidth * 8)
  const rest = eighths % 8
  return '█'.repeat(Math.floor(eighths / 8)) + (rest > 0 ? String.fromCodePoint(0x2590 - rest) : '')
}

const drawBlock = (out: Output, { kind, question, total, answers }: BlockTally): void => {
  out.line(`${printable(question)} (${kind}, ${total} ${total === 1 ? 'answer' : 'answers'})`)
  const labels = answers.map(({ value, correct }) => `${printable(String(value))}${correct ? ' ✓' : ''}`)
  const width = Math.max(...labels.map((label) => label.length))
  for (const [i, { count }] of answers.entries()) {
    const share = total === 0 ? 0 : count / total
    out.line(`  ${labels[i]!.padEnd(width)}  ${bar(share).padEnd(barWidth)} ${count} · ${Math.round(share * 100)} %`)
  }
  out.line('')
}

const draw = (out: Output, { counts, blocks }: ProjectTally): void => {
  for (const block of blocks) drawBlock(out, block)
  out.line(
    `In all: ${
      Object.entries(counts)
        .map(([kind, count]) => `${kind} ${count}`)
        .join(', ') || 'nothing yet'
    }`,
  )
  out.line('')
}

const addResponses = (noun: Command, cli: Cli): void => {
  paged(
    noun
      .command('responses')
      .description(
        'What recipients did with the mails of a project: votes, ratings and quizzes as bars, then one by one',
      )
      .argument('<project>', 'id or name'),
  ).action(
    cli.run(async ({ out, pages, work }, ref: string, flags: PageFlags) => {
      const { listResponses, tallyResponses } = await import('./engagement.responses.ts')
      const tally = await work((w) => tallyResponses(w, ref))
      if (out.format === 'table' && flags.cursor === undefined && !out.fields) draw(out, tally)
      const load = (page: PageRequest) => work((w) => listResponses(w, ref, page))
      await pages('responses', flags, load, columns, { beside: tally })
    }),
  )
}

const addWebhook = (projects: Command, cli: Cli): void => {
  const noun = projects
    .command('webhook')
    .description("A project's own webhook, which gets the interactions with its mails")

  noun
    .command('set')
    .description('Give a project its webhook, or the one it has another URL; the secret is shown once')
    .argument('<project>', 'id or name')
    .option('--url <url>', 'where interactions are posted')
    .action(
      cli.run(async ({ account, actor, app, out, require }, ref: string, flags: { url?: string }) => {
        const { url } = await require({ url: flags.url })
        const { setProjectWebhook } = await import('./engagement.webhook.ts')
        const webhook = await setProjectWebhook(app, (await account()).id, actor, ref, url)
        out.secret(webhook, 'secret')
      }),
    )

  noun
    .command('unset')
    .description('Remove it; what is on its way is cancelled')
    .argument('<project>', 'id or name')
    .option('--yes', 'do it without asking')
    .option('--dry-run', 'say what would happen')
    .action(
      cli.run(async ({ out, work, confirm }, ref: string, flags: { yes?: boolean; dryRun?: boolean }) => {
        const [{ showProjectWebhook, unsetProjectWebhook }, { countPending }] = await Promise.all([
          import('./engagement.webhook.ts'),
          import('../deliveries/deliveries.ts'),
        ])
        const { id, url } = await work((w) => showProjectWebhook(w, ref))
        const pending = await work((w) => countPending(w, id))
        const what = `remove the webhook ${id} (${url}) and cancel its pending deliveries (${pending})`
        if (!(await confirm(what, flags, { id, pending }))) return
        out.one({ ok: true, ...(await work((w) => unsetProjectWebhook(w, ref))) })
      }),
    )

  noun
    .command('test')
    .description('Send it a sample interaction with test: true inside data')
    .argument('<project>', 'id or name')
    .action(
      cli.run(async ({ out, work }, ref: string) => {
        const { testProjectWebhook } = await import('./engagement.webhook.ts')
        const { history, event, ...delivery } = await work((w) => testProjectWebhook(w, ref))
        out.one(delivery)
        out.note(`Follow it: svc deliveries show ${delivery.id}`)
      }),
    )
}

const addLiveView = (cli: Cli, loadBlocks: () => Promise<readonly BlockKind[]>): void => {
  const noun = cli.noun('liveview')

  noun
    .command('url')
    .description('Print the signed address of a live view: who has it answers as the recipient')
    .argument('<send>', 'the id of the mail')
    .action(
      cli.run(async ({ account, app, out }, send: string) => {
        const [{ loadSent, noLongerKept, viewUrl }, { missing }] = await Promise.all([
          import('./engagement.sent.ts'),
          import('../lib/problem.ts'),
        ])
        const { id: accountId } = await account()
        const sent = await loadSent(app, accountId, send)
        if (!sent) throw missing(`There is no mail ${send} of a project`, { hint: 'svc sends list' })
        if (sent.isDropped) throw missing(noLongerKept, { hint: `svc sends show ${send}` })
        const url = viewUrl(app, accountId, send)
        if (out.format === 'json' || out.format === 'jsonl')
          out.one({ id: send, url, token: url.slice(url.lastIndexOf('/') + 1) })
        else out.line(url)
      }),
    )

  noun
    .command('show')
    .description('Show a live view as GET /liveview answers it')
    .argument('<token>', 'of its address')
    .action(
      cli.run(async ({ app, out }, token: string) => {
        const [{ showLiveView }, { shownOfToken }, { missing }, kinds] = await Promise.all([
          import('./liveview.ts'),
          import('./engagement.sent.ts'),
          import('../lib/problem.ts'),
          loadBlocks(),
        ])
        const sent = await shownOfToken(app, token)
        if (!sent) throw missing('There is no such live view', { hint: 'svc liveview url <send>' })
        out.one(await showLiveView(app, sent, kinds))
      }),
    )
}

const showScoreOf = async ({ out, work }: Context, email: string): Promise<void> => {
  const [{ showScore }, { normalizeEmail }] = await Promise.all([
    import('./engagement.score.ts'),
    import('../lib/email.ts'),
  ])
  out.one(await work((w) => showScore(w, normalizeEmail(email))))
}

const addScore = (cli: Cli): void => {
  const noun = cli.noun('score')

  noun
    .command('show')
    .description('Show the score as it is now: it halves in 30 days')
    .argument('<email>')
    .action(cli.run(showScoreOf))

  noun
    .command('set')
    .description('Set the score; lead.hot fires where that crosses the threshold')
    .argument('<email>')
    .option('--score <points>', 'from 0 to 1000000')
    .action(
      cli.run(async ({ out, work, require }, email: string, flags: { score?: string }) => {
        const given = await require({ score: flags.score })
        const [{ setScore }, { normalizeEmail }, { parse }, { z }] = await Promise.all([
          import('./engagement.score.ts'),
          import('../lib/email.ts'),
          import('../lib/parse.ts'),
          import('zod'),
        ])
        const { score } = parse(z.object({ score: z.coerce.number().min(0).max(1_000_000) }), given)
        out.one(await work((w) => setScore(w, normalizeEmail(email), score)))
      }),
    )

  cli
    .noun('contacts')
    .command('score')
    .description('Show the lead score of an address')
    .argument('<email>')
    .action(cli.run(showScoreOf))
}

/** `svc liveview`, `svc score`, and the responses and webhooks of `svc projects`. */
export const commandsOf =
  (loadBlocks: () => Promise<readonly BlockKind[]>): CommandSet =>
  (cli) => {
    const projects = cli.noun('projects')
    addResponses(projects, cli)
    addWebhook(projects, cli)
    addLiveView(cli, loadBlocks)
    addScore(cli)
  }
