import type { Context } from '../cli/command.ts'
import { type CommandList, command, group } from '../cli/define.ts'
import { argument, changing, confirmed, needed, paged } from '../cli/flags.ts'
import { parse } from '../cli/input.ts'
import { type Column, moneyText, type Output, printable, properties } from '../cli/output.ts'
import type { PageRequest } from '../lib/page-request.ts'
import { notFound } from '../lib/problem.ts'
import { number, quantity } from '../lib/quantity.ts'
import type { BlockKind } from './interactions/blocks.ts'
import type { BlockSummary, Labels, ProjectSummary, ResponseView } from './interactions/responses.ts'

const columnsOf = (out: Output, labels: Labels): Column<ResponseView>[] => [
  ['WHEN', (response) => new Date(response.at)],
  ...properties<ResponseView>('kind', 'blockId'),
  [
    'ANSWER',
    ({ value }) => (typeof value === 'object' && value !== null ? JSON.stringify(value) : (value as string | null)),
    'pipe',
  ],
  ['ANSWER', (response) => answerText(out, labels, response), 'terminal'],
  ['EMAIL', (response) => response.email],
  ['SOURCE', ({ source }) => `${source.kind} ${source.id}`, 'pipe'],
  ['SOURCE', ({ source }) => source.kind, 'terminal'],
  ['SEND', (response) => response.messageId, 'terminal'],
]

const labelled = (label: string, value: unknown): string => `${label}${label.endsWith('?') ? '' : ':'} ${value}`

/** Returns an answer as text, such as `Team size: 12, Role: Engineer`. */
const answerText = (out: Output, labels: Labels, { blockId, value }: ResponseView): string | null => {
  if (value === null || value === undefined) return null
  const { question, fields } = labels.get(blockId ?? '') ?? { question: null, fields: {} }
  if (typeof value !== 'object') return question === null ? String(value) : labelled(question, value)
  const { amount, currency } = value as Record<string, unknown>
  if (typeof amount === 'number' && typeof currency === 'string') return moneyText({ amount, currency })
  return Object.entries(value)
    .map(([name, text]) => {
      const isTime = typeof text === 'number' && /(^a|A)t$/.test(name)
      return labelled(Object.hasOwn(fields, name) ? fields[name]! : name, isTime ? out.time(text) : text)
    })
    .join(', ')
}

const barWidth = 30

/** Returns a bar such as `██████▌`, at most 30 columns wide. */
const bar = (share: number): string => {
  const eighths = Math.round(share * barWidth * 8)
  const rest = eighths % 8
  return '█'.repeat(Math.floor(eighths / 8)) + (rest > 0 ? String.fromCodePoint(0x2590 - rest) : '')
}

const drawBlock = (out: Output, { kind, question, total, answers }: BlockSummary): void => {
  out.line(`${printable(question)} (${kind}, ${quantity(total, 'answer')})`)
  const labels = answers.map(({ value, correct }) => `${printable(String(value))}${correct ? ' ✓' : ''}`)
  const width = Math.max(...labels.map((label) => label.length))
  for (const [i, { count }] of answers.entries()) {
    const share = total === 0 ? 0 : count / total
    out.line(
      `  ${labels[i]!.padEnd(width)}  ${bar(share).padEnd(barWidth)} ${number(count)} · ${Math.round(share * 100)} %`,
    )
  }
  out.line('')
}

const draw = (out: Output, { counts, blocks }: ProjectSummary): void => {
  for (const block of blocks) drawBlock(out, block)
  out.line(
    `Total: ${
      Object.entries(counts)
        .map(([kind, count]) => `${kind} ${number(count)}`)
        .join(', ') || 'nothing yet'
    }`,
  )
  out.line('')
}

const parseEmail = async (given: string): Promise<string> =>
  parse((await import('../contacts/contacts.ts')).EmailInput, given, 'email')

const showScoreOf = async ({ out, work }: Context, given: string): Promise<void> => {
  const { showScore } = await import('./engagement.score.ts')
  const email = await parseEmail(given)
  out.one(await work((w) => showScore(w, email)))
}

/** The commands `svc liveview`, `svc score`, `svc contacts score`, `svc projects responses` and `svc projects webhook`. */
export const commandsOf = (loadBlocks: () => Promise<readonly BlockKind[]>): CommandList => [
  command({
    path: 'projects responses',
    summary: 'Show the responses to the emails of a project: counts for each block, then each response',
    examples: ['svc projects responses Welcome', 'svc projects responses Welcome --json --limit 200'],
    arguments: [argument('<project>', 'id or name')],
    flags: paged,
    run: async ({ out, pages, work }, ref, flags) => {
      const { labelsOf, listResponses, summarizeResponses } = await import('./interactions/responses.ts')
      const summary = await work((w) => summarizeResponses(w, ref))
      const labels: Labels = out.format === 'table' ? await work((w) => labelsOf(w, ref)) : new Map()
      if (out.format === 'table' && flags.cursor === undefined && !out.fields) draw(out, summary)
      const load = (page: PageRequest) => work((w) => listResponses(w, ref, page))
      await pages('responses', flags, load, columnsOf(out, labels), { beside: summary })
    },
  }),

  group({
    path: 'projects webhook',
    summary: 'Manage the webhook of a project, which receives the interactions with its emails',
  }),

  command({
    path: 'projects webhook set',
    summary: 'Set the webhook of a project, or change its URL; the secret is shown only once',
    examples: [
      'svc projects webhook set Welcome --url https://shop.example/answers',
      'svc projects webhook set Welcome --url https://shop.example/answers --json',
    ],
    arguments: [argument('<project>', 'id or name')],
    flags: {
      url: needed('<url>', 'the URL that receives interactions'),
      ...changing(),
    },
    run: async ({ account, actor, app, out }, ref, { url, dryRun }) => {
      const { setProjectWebhook } = await import('./engagement.webhook.ts')
      const webhook = await setProjectWebhook(app, (await account()).id, actor, ref, url)
      const { secret: _, ...planned } = webhook
      if (dryRun) out.one(planned)
      else out.secret(webhook, 'secret')
    },
  }),

  command({
    path: 'projects webhook unset',
    summary: 'Remove the webhook of a project; its pending deliveries are cancelled',
    examples: ['svc projects webhook unset Welcome --dry-run', 'svc projects webhook unset Welcome --yes'],
    arguments: [argument('<project>', 'id or name')],
    flags: confirmed(),
    run: async ({ out, work, confirm }, ref, flags) => {
      const { showProjectWebhook, unsetProjectWebhook } = await import('./engagement.webhook.ts')
      const { countPending } = await import('../deliveries/deliveries.ts')
      const { id, url } = await work((w) => showProjectWebhook(w, ref))
      const pending = await work((w) => countPending(w, id))
      const what = `remove the webhook ${id} (${url}) and cancel its pending deliveries (${pending})`
      if (!(await confirm(what, flags, { id, pending }))) return
      out.one({ ok: true, ...(await work((w) => unsetProjectWebhook(w, ref))) })
    },
  }),

  command({
    path: 'projects webhook test',
    summary: 'Send a sample interaction (data.test is true) to the webhook of a project',
    examples: ['svc projects webhook test Welcome', 'svc projects webhook test Welcome --json'],
    arguments: [argument('<project>', 'id or name')],
    flags: changing('show the delivery, and post nothing'),
    run: async ({ out, work }, ref, { dryRun }) => {
      const { testProjectWebhook } = await import('./engagement.webhook.ts')
      const { history, event, id, ...delivery } = await work((w) => testProjectWebhook(w, ref))
      out.one(dryRun ? delivery : { id, ...delivery })
      if (!dryRun) out.next(`svc deliveries show ${id}`)
    },
  }),

  command({
    path: 'liveview url',
    summary: 'Print the signed URL of a live view; anyone who has it can answer as the recipient',
    examples: [
      'svc liveview url msg_01m82xtqaxrmrt3v4050vc411s',
      'svc liveview url msg_01m82xtqaxrmrt3v4050vc411s --json',
    ],
    arguments: [argument('<send>', 'the id of the email')],
    run: async ({ account, app, out }, send) => {
      const { loadSent, noLongerKept, viewUrl } = await import('./engagement.sent.ts')
      const { id: accountId } = await account()
      const sent = await loadSent(app, accountId, send)
      if (!sent) throw notFound(`There is no email ${send} of a project`, { hint: 'svc sends list' })
      if (sent.isDropped) throw notFound(noLongerKept, { hint: `svc sends show ${send}` })
      const url = viewUrl(app, accountId, send)
      if (out.isJson) out.one({ id: send, url, token: url.slice(url.lastIndexOf('/') + 1) })
      else out.line(url)
    },
  }),

  command({
    path: 'liveview show',
    summary: 'Show a live view as GET /liveview returns it',
    examples: [
      'svc liveview show W251bGwsImFjYyJd.aXsNzkG4JrEA',
      'svc liveview show W251bGwsImFjYyJd.aXsNzkG4JrEA --json',
    ],
    arguments: [argument('<token>', 'the token in its URL')],
    account: 'none',
    run: async ({ app, out }, token) => {
      const { showLiveView } = await import('./liveview/view.ts')
      const { findViewableByToken } = await import('./engagement.sent.ts')
      const kinds = await loadBlocks()
      const sent = await findViewableByToken(app, token)
      if (!sent) throw notFound('There is no such live view', { hint: 'svc liveview url <send>' })
      out.one(await showLiveView(app, sent, kinds))
    },
  }),

  command({
    path: 'score show',
    summary: 'Show the current lead score of an address; a score halves in 30 days',
    examples: ['svc score show ada@example.com', 'svc score show ada@example.com --json'],
    arguments: [argument('<email>')],
    run: showScoreOf,
  }),

  command({
    path: 'score set',
    summary: 'Set the lead score of an address; crossing the threshold fires lead.hot',
    examples: ['svc score set ada@example.com --score 60', 'svc score set ada@example.com --score 60 --dry-run'],
    arguments: [argument('<email>')],
    flags: { score: needed('<points>', 'the new score, from 0 to 1000000'), ...changing() },
    run: async ({ out, work }, given, flags) => {
      const { setScore } = await import('./engagement.score.ts')
      const { z } = await import('zod')
      const email = await parseEmail(given)
      const points = /^\d+(\.\d+)?$/.test(flags.score) ? Number(flags.score) : null
      const score = await parse(z.number('must be a number from 0 to 1000000').max(1_000_000), points, 'score')
      out.one(await work((w) => setScore(w, email, score)))
    },
  }),

  command({
    path: 'contacts score',
    summary: 'Show the lead score of an address',
    examples: ['svc contacts score ada@example.com', 'svc contacts score ada@example.com --json'],
    arguments: [argument('<email>')],
    run: showScoreOf,
  }),
]
