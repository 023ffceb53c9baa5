import type { Context } from '../cli/command.ts'
import { type CommandList, command } from '../cli/define.ts'
import { argument, changing, type FlagValues, paged, repeated, text, unasked } from '../cli/flags.ts'
import { parse, readData, readText } from '../cli/input.ts'
import { type Letter, letterFlags, showLetter } from '../cli/letter.ts'
import { type Column, mailboxText, properties } from '../cli/output.ts'
import { idAt } from '../lib/ids.ts'
import type { PageRequest } from '../lib/page-request.ts'
import { Problem, shown } from '../lib/problem.ts'
import { quantity } from '../lib/quantity.ts'
import { parseSince, parseTime } from '../lib/since.ts'
import type { BesideResults } from '../results/results.ts'
import type { MessageDetail, MessageView } from './messages.find.ts'

const columns: Column<MessageView>[] = [
  ...properties<MessageView>('id', 'to', 'status'),
  ['REASON', (message) => message.error],
  ...properties<MessageView>('type', 'subject', 'createdAt'),
]

/** Otherwise the last of several recipients would get the email, and the others nothing. */
const onlyRecipient = (text: string, earlier: string | undefined): string => {
  if (earlier !== undefined) throw new Problem('usage', '--to takes one recipient: send to each, or use --cc or --bcc')
  return text
}

const sendFlags = {
  to: { ...text('<email>', 'the recipient (exactly one)'), parse: onlyRecipient },
  cc: repeated('<email>', 'a recipient of a copy, named in the email (repeatable)'),
  bcc: repeated('<email>', 'a recipient of a copy, named nowhere (repeatable)'),
  project: text('<id|name>', 'the project to render'),
  data: repeated('<name=value|@file>', 'merge data: a field and its value, or a JSON file (repeatable)'),
  subject: text('<subject>', 'the subject (default: the name of the project)'),
  html: text('<@file|-|text>', 'the HTML part, sent unchanged: from a file, from standard input, or given here'),
  text: text('<@file|-|text>', 'the text part, in the same way'),
  type: text('<type>', 'transactional (default) or marketing', { of: ['transactional', 'marketing'] }),
  topic: text('<id|name>', 'the topic of marketing email: people who left it get none'),
  from: text('<address>', 'From address, such as "The Shop <hello@shop.example>" (default: the default sender)'),
  sender: text('<id>', 'id of a sender (svc senders list)'),
  replyTo: text('<email>', 'address for replies'),
  at: text('<time>', 'when to send it, such as 2026-12-01T09:00:00Z or 2d (default: at once)'),
  attach: repeated('<file>', 'a file to attach (repeatable)'),
  header: repeated('<header>', 'a header, such as "X-Campaign: spring" (repeatable)'),
  ...unasked('check everything except the relay, and send nothing'),
}

type SendFlags = FlagValues<typeof sendFlags>

const headersOf = (lines: readonly string[]): Record<string, string> => {
  const headers: Record<string, string> = {}
  const names = new Set<string>()
  for (const line of lines) {
    const at = line.indexOf(':')
    if (at < 1) throw new Problem('usage', `--header takes "Name: value", not ${shown(line)}`)
    const name = line.slice(0, at).trim()
    if (names.has(name.toLowerCase())) throw new Problem('usage', `--header names ${shown(name)} twice`)
    names.add(name.toLowerCase())
    headers[name] = line.slice(at + 1).trim()
  }
  return headers
}

/** Types of common files, by their extension. Others are `application/octet-stream`. */
const contentTypes: Readonly<Record<string, string>> = {
  csv: 'text/csv',
  gif: 'image/gif',
  html: 'text/html',
  ics: 'text/calendar',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  json: 'application/json',
  pdf: 'application/pdf',
  png: 'image/png',
  svg: 'image/svg+xml',
  txt: 'text/plain',
  xml: 'application/xml',
  zip: 'application/zip',
}

const attachmentsOf = async (files: readonly string[]): Promise<object[]> => {
  const [{ readFile }, { basename, extname }] = await Promise.all([import('node:fs/promises'), import('node:path')])
  return Promise.all(
    files.map(async (file) => {
      const content = await readFile(file).catch(() => {
        throw new Problem('usage', `--attach names a file that can't be read: ${file}`)
      })
      const contentType = contentTypes[extname(file).slice(1).toLowerCase()]
      return { filename: basename(file), contentType, content: content.toString('base64') }
    }),
  )
}

/** Parses `Name <address>`, or an address without a name. */
const fromOf = (text: string): { email: string; name?: string } => {
  const [, before, email] = /^([^<>]*)<([^<>]+)>$/.exec(text.trim()) ?? []
  const name = before?.trim().replace(/^"(.*)"$/, '$1')
  return email ? { email, ...(name && { name }) } : { email: text }
}

const bodyOf = async (context: Context, flags: SendFlags): Promise<object> => {
  const { asks, require } = context
  // On a terminal, a call without any content asks for a project.
  const isChosen = asks && [flags.project, flags.html, flags.text].every((flag) => flag === undefined)
  if (isChosen) await require(flags, 'project')
  const { project } = flags
  if (project !== undefined && (flags.html !== undefined || flags.text !== undefined))
    throw new Problem('usage', 'Use either --project, or --html and --text')
  const isBare = flags.html === undefined && flags.text === undefined
  const content = ['subject', ...(isBare ? ['html', 'text'] : [])] as ('subject' | 'html' | 'text')[]
  const { to, subject, type, from, sender, replyTo } = await require(flags, 'to', ...(project === undefined
    ? content
    : []))
  if (subject?.trim() === '') throw new Problem('usage', '--subject is empty')
  const headers = flags.header.length > 0 ? headersOf(flags.header) : undefined
  const copies = { ...(flags.cc.length > 0 && { cc: flags.cc }), ...(flags.bcc.length > 0 && { bcc: flags.bcc }) }
  const attachments = await attachmentsOf(flags.attach)
  const common = {
    to,
    ...copies,
    ...(attachments.length > 0 && { attachments }),
    type,
    topicId: flags.topic,
    from: from === undefined ? undefined : fromOf(from),
    senderId: sender,
    replyTo,
    subject,
    headers,
  }
  if (project !== undefined) return { ...common, projectId: project, mergeData: await readData(flags.data) }
  if (flags.html === '-' && flags.text === '-')
    throw new Problem('usage', 'Only one of --html and --text can be read from stdin')
  const [html, text] = [
    await readText(flags.html ?? '', '--html', context.out),
    await readText(flags.text ?? '', '--text', context.out),
  ]
  if ((html + text).trim() === '') throw new Problem('usage', 'The email is empty: give --html or --text')
  return { ...common, html, text }
}

/** Renders an email of a project again. Its personal links lead nowhere, because they belong to the recipient. */
const partsOf = async ({ app, account }: Context, message: MessageDetail): Promise<Pick<Letter, 'text' | 'html'>> => {
  const { projectId, projectVersion: version, mergeData, contentDroppedAt } = message
  if (projectId === null || version === null || mergeData === null || contentDroppedAt !== null)
    return { text: message.text || null, html: message.html || null }
  const { previewLinks, renderProject } = await import('../studio/studio.ts')
  const { id: accountId } = await account()
  return renderProject(app, {
    accountId,
    id: projectId,
    version,
    mergeData,
    links: previewLinks,
    nowMs: message.scheduledAt ?? message.createdAt,
  })
}

const letterOf = async (context: Context, message: MessageDetail & BesideResults): Promise<Letter> => {
  const { machines } = message
  const { id, status, reason, error, type, from, replyTo, to, subject, createdAt, finishedAt, queue } = message
  const lack =
    message.contentDroppedAt === null
      ? 'This email has no such part; --source shows its record'
      : 'The content of this email is no longer kept'
  const headers = {
    id,
    ...(from && { from: mailboxText(from) }),
    ...(replyTo && { 'reply to': replyTo }),
    to,
    subject,
    ...(message.copy && { copy: message.copy }),
    ...(message.copyOf && { copyOf: message.copyOf }),
    ...(message.attachments.length > 0 && {
      attachments: message.attachments.map(({ filename }) => filename).join(', '),
    }),
    ...message.headers,
    type,
    status,
    ...(message.topicId && { topicId: message.topicId }),
    ...(reason && { reason }),
    ...(error !== reason && { error }),
    createdAt,
    ...(message.scheduledAt && { scheduledAt: message.scheduledAt }),
    ...(finishedAt && { finishedAt }),
    ...(machines && { 'by machines': `${quantity(machines.opens, 'open')}, ${quantity(machines.clicks, 'click')}` }),
    ...(queue && { queue: `${queue.state}, ${quantity(queue.tries, 'try', 'tries')}` }),
    ...(queue?.dueAt && { dueAt: queue.dueAt }),
  }
  const { text, html } = await partsOf(context, message)
  return { thing: message, headers: await context.out.named(headers), lack, text, html }
}

/** The commands `svc send` and `svc sends`. */
export const commands: CommandList = [
  command({
    path: 'send',
    examples: [
      'svc send --to ada@example.com --project Welcome --data name=Ada',
      'svc send --to ada@example.com --subject Hello --html @mail.html --text @mail.txt',
    ],
    flags: sendFlags,
    run: async (context, flags) => {
      const { app, account, actor, next, out, exit, timezone, trial, work } = context
      const { dryRun } = flags
      const input = await bodyOf(context, flags)
      const { SendBody, sendMessage, trySend } = await import('./messages.ts')
      const body = await parse(SendBody, {
        ...input,
        ...(flags.at !== undefined && { scheduledAt: parseTime(flags.at, app.now().getTime(), await timezone()) }),
      })
      const { projectId, topicId } = body
      if (topicId !== undefined) {
        const { findTopic } = await import('../suppressions/suppressions.ts')
        body.topicId = (await work((w) => findTopic(w, topicId))).id
      }
      if (projectId !== undefined) {
        const { findProject } = await import('../studio/studio.ts')
        body.projectId = (await work((w) => findProject(w, projectId))).id
      }
      const tried = dryRun && (await trial((w) => trySend(app, w, body)))
      const result = tried
        ? { ...tried, id: null }
        : (await sendMessage(app, (await account()).id, body, { actor, countsCall: false })).result
      out.one(tried ? { dryRun: true, to: body.to, ...tried } : result)
      const { reason } = result
      if (reason !== undefined) {
        const { explainUnsent } = await import('../suppressions/suppressions.ts')
        const unsent = await work((w) => explainUnsent(w, { email: body.to, reason, topicId: body.topicId }))
        out.note(`not sent: ${unsent.why}`)
        out.next(unsent.next)
      }
      if (dryRun) return out.note('Nothing was sent.')
      if (result.status === 'failed') exit(1)
      if (reason === undefined) await next(`svc sends show ${result.id}`)
    },
  }),

  command({
    path: 'sends list',
    isDefault: true,
    summary: 'List emails, newest first',
    examples: ['svc sends --status failed --since 2h', 'svc sends list --to ada@example.com --json'],
    flags: {
      status: text('<status>', 'only this status: pending, sent, failed or suppressed', {
        of: async () => (await import('./messages.shapes.ts')).messageStatuses,
      }),
      to: text('<email>', 'only emails to this address'),
      since: text('<age|time>', 'created since, such as 2h or 2026-11-20T08:00:00Z'),
      ...paged,
    },
    run: async ({ app, pages, timezone, work }, flags) => {
      const { listMessages, SendResult } = await import('./messages.ts')
      const { emailAddress } = await import('../lib/address.ts')
      const status = await parse(SendResult.shape.status.nullable(), flags.status ?? null, 'status')
      const { since } = flags
      const sinceId = since === undefined ? null : idAt('msg', parseSince(since, app.now().getTime(), await timezone()))
      const filter = { status, email: await parse(emailAddress().nullable(), flags.to ?? null, 'to'), sinceId }
      const load = (page: PageRequest) => work((w) => listMessages(w, filter, page))
      await pages('sends', flags, load, columns)
    },
  }),

  command({
    path: 'sends show',
    summary: 'Show an email: its status, headers and text',
    examples: ['svc sends show msg_01m82xtqaxrmrt3v4050vc411s', 'svc sends show msg_01m82xtqaxrmrt3v4050vc411s --open'],
    arguments: [argument('<id>')],
    flags: { ...letterFlags('print its record, including content and merge data') },
    run: async (context, id, flags) => {
      const { out, work } = context
      const { showMessageInDetail } = await import('./messages.ts')
      const message = await work((w) => showMessageInDetail(w, id))
      if (out.format !== 'table' && !flags.html && !flags.open) return out.one(message)
      await showLetter(out, await letterOf(context, message), flags, () => out.one(message))
    },
  }),

  command({
    path: 'sends cancel',
    summary: 'Cancel a pending email, such as a scheduled one, with its copies',
    examples: [
      'svc sends cancel msg_01m82xtqaxrmrt3v4050vc411s',
      'svc sends cancel msg_01m82xtqaxrmrt3v4050vc411s --dry-run',
    ],
    arguments: [argument('<id>')],
    flags: changing(),
    run: async ({ out, work, exit }, id) => {
      const { cancelSend, showMessage } = await import('./messages.ts')
      const { notCancelled, to, subject, status, error, scheduledAt } = await work(async (w) => ({
        notCancelled: await cancelSend(w, id),
        ...(await showMessage(w, id)),
      }))
      const result = { id, to, subject, status, error, scheduledAt }
      out.one({ ...result, ...(notCancelled.length > 0 && { notCancelled }) }, result)
      if (notCancelled.length === 0) return
      out.note(
        `Not cancelled, because they are being sent or were sent: ${notCancelled.map((one) => one.to).join(', ')}`,
      )
      exit(5)
    },
  }),
]
