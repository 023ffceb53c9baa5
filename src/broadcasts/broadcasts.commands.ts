import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from '../cli/command.ts'
import { type CommandList, command } from '../cli/define.ts'
import {
  argument,
  changing,
  confirmed,
  type FlagValues,
  needed,
  paged,
  present,
  repeated,
  text,
  unasked,
} from '../cli/flags.ts'
import { parse } from '../cli/input.ts'
import { mailboxText, printWithResults, properties, span } from '../cli/output.ts'
import { Problem } from '../lib/problem.ts'
import { number, quantity } from '../lib/quantity.ts'
import { parseTime } from '../lib/since.ts'
import type { BroadcastView, Plan } from './broadcasts.ts'

const columns = properties<BroadcastView>(
  'id',
  'name',
  'status',
  'recipients',
  'queued',
  'sent',
  'failed',
  'suppressed',
  'scheduledAt',
  'createdAt',
  'listId',
  'projectId',
)

const followMs = 1000
const noDaemon = 'Nothing is sent until a daemon runs: svc serve, or svc jobs run'

const describedFlags = {
  list: repeated('<id|name>', 'the recipients: the list’s active contacts when sending begins (repeatable)'),
  where: text('<filter>', 'only contacts of each list that meet this filter when sending begins'),
  segment: repeated('<id|name>', 'the recipients: the segment’s active contacts when sending begins (repeatable)'),
  all: present('the recipients: every address with an active contact'),
  excludeList: repeated('<id|name>', 'leave out the addresses in this list (repeatable)'),
  excludeSegment: repeated('<id|name>', 'leave out the addresses in this segment (repeatable)'),
  project: text('<id|name>', 'the project to render'),
  topic: text('<id|name>', 'the topic of its emails: people who left it get none'),
  subject: repeated('<subject>', 'the subject (default: the name of the project); up to four: each recipient gets one'),
  share: text('<percent>', 'with several subjects: percentage of recipients who get them; the rest gets the best one'),
  winner: text('<metric>', 'with --share: what makes a subject the best: opened, clicked or answered', {
    of: async () => (await import('./broadcasts.variants.ts')).winners,
  }),
  after: text('<duration>', 'with --share: when to choose it, such as 4h after the last email of the share was queued'),
  sender: text('<id|address>', 'the sender (default: the account’s default sender)'),
  replyTo: text('<address>', 'the Reply-To address (default: that of the sender)'),
  at: text('<time>', 'start of sending, such as 2026-12-01T09:00:00Z or 2d (default: at once)'),
  rate: text('<n>', 'maximum emails per minute'),
}

const createFlags = {
  name: text('<name>', 'its name in lists (default: the name of the project)'),
  ...describedFlags,
  send: present('also send it, after a confirmation'),
  follow: present('with --send: wait until all are sent, with a progress bar'),
  ...confirmed('show how many emails it would send, and how many recipients are suppressed'),
}

type CreateFlags = FlagValues<typeof createFlags>

const emails = (count: number) => quantity(count, 'email')

/** Shows a progress bar on stderr: the share of the recipients that `done` counts. */
const watch = ({ progress, work }: Context, id: string, done: (view: BroadcastView) => number) => {
  const bar = progress('email')
  return {
    async look(): Promise<BroadcastView> {
      const { showBroadcast } = await import('./broadcasts.ts')
      const view = await work((w) => showBroadcast(w, id))
      const rows = done(view)
      bar.update({ rows, fraction: view.recipients > 0 ? Math.min(1, rows / view.recipients) : null })
      return view
    },
    stop: bar.stop,
  }
}

const ended = ({ sent, failed, suppressed }: BroadcastView) => sent + failed + suppressed
const handled = (view: BroadcastView) => view.queued + ended(view)

/** Queues the messages in this process. If it is interrupted, a daemon continues. */
const queue = async (context: Context, id: string, done: typeof handled): Promise<void> => {
  const { queueBroadcast } = await import('./broadcasts.ts')
  const { app, actor, signal } = context
  const { id: accountId } = await context.account()
  const bar = watch(context, id, done)
  const onStep = async () => {
    await bar.look()
  }
  await queueBroadcast(app, accountId, id, { actor, signal, onStep }).finally(bar.stop)
}

/** Waits for the end of a broadcast, as long as a daemon sends. */
const follow = async (context: Context, id: string): Promise<void> => {
  const { isMailJobRunning } = await import('./broadcasts.ts')
  const { app, signal, out } = context
  const bar = watch(context, id, ended)
  try {
    for (;;) {
      const { status } = await bar.look()
      if (status === 'done' || status === 'cancelled' || signal.aborted) return
      if (!(await isMailJobRunning(app))) {
        bar.stop()
        return out.note(noDaemon)
      }
      await sleep(followMs, undefined, { signal }).catch(() => {})
    }
  } finally {
    bar.stop()
  }
}

const tested = ({ projectVersion, testedVersion }: Plan): string => {
  if (testedVersion === null) return ' (not tested)'
  return testedVersion === projectVersion ? '' : ` (version ${testedVersion} was tested)`
}

/** Returns the sentence that a confirmation shows. */
const sending = (plan: Plan): string => {
  const { mails, suppressed, audience, topicName, subject, subjects, from, at, rate, contest } = plan
  const leftOut = suppressed > 0 ? `, leaving out ${number(suppressed)} suppressed` : ''
  const topic = topicName === undefined ? '' : `, about ${topicName}`
  const people = quantity(mails, 'person', 'people')
  const version = `version ${plan.projectVersion} of its project${tested(plan)}`
  const lines = (subjects ?? [subject]).map((line) => `"${line}"`).join(' or ')
  const rest = contest
    ? ` to ${contest.share} % of them, and ${span(contest.afterMs)} later to the rest the one that was ${contest.by} most`
    : ''
  const pace = rate === null ? '' : `, at most ${number(rate)} a minute`
  return `email ${people} of ${audience}${leftOut}${topic}: ${lines}${rest}, from ${mailboxText(from)}, ${version}, ${at ? `at ${at.toISOString()}` : 'at once'}${pace}`
}

/** Returns what a dry run prints of a plan. */
const planned = ({
  audience: _words,
  listName: _list,
  topicName: _topic,
  at: _at,
  id: _id,
  rate: _rate,
  contest: _contest,
  ...shown
}: Plan) => shown

/** Queues a sent broadcast if its time has come, and prints its state. */
const startSending = async (
  context: Context,
  { id, scheduledAt }: BroadcastView,
  isFollowed = false,
): Promise<void> => {
  const { app, out, work } = context
  const { isMailJobRunning, showBroadcast } = await import('./broadcasts.ts')
  if (scheduledAt === null || scheduledAt <= app.now().getTime()) await queue(context, id, handled)
  const isJobRunning = await isMailJobRunning(app)
  if (isFollowed && isJobRunning) await follow(context, id)
  else if (!isJobRunning) out.note(noDaemon)
  out.one(await out.named(await work((w) => showBroadcast(w, id))))
  await context.next(`svc broadcasts show ${id}`)
}

/** Returns the flags about recipients that were given. */
const audienceOf = ({ list, where, segment, all, excludeList, excludeSegment }: FlagValues<typeof describedFlags>) => {
  const given = (refs: string[]) => (refs.length > 0 ? refs : undefined)
  return {
    list: given(list),
    segment: given(segment),
    where,
    all,
    excludeList: given(excludeList),
    excludeSegment: given(excludeSegment),
  }
}

/** Returns the flags about subjects that were given. */
const subjectsOf = ({ subject, share, winner, after }: FlagValues<typeof describedFlags>) => ({
  subject: subject.length > 0 ? subject : undefined,
  share: share && Number(share),
  winner,
  after,
})

/** Resolves the word `none` to an empty list. */
const orNothing = (refs: string[] | undefined) => (refs?.length === 1 && refs[0] === 'none' ? [] : refs)

/** Resolves the word `none` to null. */
const orNone = (value: string | undefined) => (value === 'none' ? null : value)

/** Returns the time of `--at` as `send --at` reads it; undefined and null stay as they are. */
const timeOf = async <At extends undefined | null>(
  { app, timezone }: Context,
  at: string | At,
): Promise<string | At> => {
  if (typeof at !== 'string') return at
  return new Date(parseTime(at, app.now().getTime(), await timezone())).toISOString()
}

const create = async (context: Context, flags: CreateFlags): Promise<void> => {
  const { app, confirm, out, trial, work } = context
  if (flags.follow && !flags.send) throw new Problem('usage', '--follow needs --send: a draft sends nothing')
  const isNamed = flags.all || flags.list.length + flags.segment.length > 0
  const asked: { list?: string; project?: string } = { ...(flags.project !== undefined && { project: flags.project }) }
  await context.require(asked, ...(isNamed ? [] : (['list'] as const)), 'project')
  const operations = await import('./broadcasts.ts')
  const { createBroadcast, planBroadcast, sendBroadcast } = operations
  const { name, topic, sender, replyTo, rate } = flags
  const at = await timeOf(context, flags.at)
  const letter = { name, topic, sender, replyTo, at, rate: rate && Number(rate), ...subjectsOf(flags) }
  const input = await parse(operations.NewBroadcast, { ...letter, ...audienceOf(flags), ...asked })
  if (flags.send || flags.dryRun) {
    const plan = await trial(async (w) => planBroadcast(app, w, (await createBroadcast(w, input)).id))
    const what = flags.send ? sending(plan) : `make a draft that can ${sending(plan)}`
    if (!(await confirm(what, flags, planned(plan)))) return
    const sent = await work(async (w) => sendBroadcast(app, w, (await createBroadcast(w, input)).id))
    return startSending(context, sent, flags.follow)
  }
  const draft = await work((w) => createBroadcast(w, input))
  out.one(await out.named(draft))
  out.note('This is a draft: nothing is sent yet.')
  out.next(`svc broadcasts test ${draft.id} --to <email>`)
  out.next(`svc broadcasts send ${draft.id}`)
}

/** The commands `svc broadcasts`. */
export const commands: CommandList = [
  command({
    path: 'broadcasts create',
    summary: 'Create a draft of an email to every active contact of a list or segment',
    examples: [
      'svc broadcasts create --name October --list Customers --project Welcome',
      'svc broadcasts create --segment "Active customers" --project Welcome --at 2026-12-01T09:00:00Z --rate 100',
    ],
    flags: createFlags,
    run: (context, flags) => create(context, flags),
  }),

  command({
    path: 'broadcasts test',
    summary: 'Send a test email of a broadcast, with [Test] in its subject and without tracking',
    examples: [
      'svc broadcasts test bct_01m82xtw6hfsym1hnj3zvrm5vk --to you@example.com',
      'svc broadcasts test bct_01m82xtw6hfsym1hnj3zvrm5vk --to you@example.com --json',
    ],
    arguments: [argument('<broadcast>', 'id or name')],
    flags: {
      to: needed('<email>', 'the recipient; merge fields are filled if the list has this contact'),
      ...unasked('render it and check everything except the relay, and send nothing'),
    },
    run: async ({ account, actor, app, exit, out, trial }, ref, { to, dryRun }) => {
      const { testBroadcast } = await import('./broadcasts.ts')
      const result = await testBroadcast(app, (await account()).id, actor, ref, to, dryRun ? trial : undefined)
      if (dryRun) {
        out.one({ dryRun, to, ...result })
        return out.note('Nothing was sent.')
      }
      out.one(result)
      if (result.status === 'failed') exit(1)
    },
  }),

  command({
    path: 'broadcasts update',
    summary: 'Change a draft; the value none removes a topic, time, rate, subject, sender, Reply-To or exclusion',
    examples: [
      'svc broadcasts update October --subject "News of October" --rate 100',
      'svc broadcasts update October --at none',
    ],
    arguments: [argument('<broadcast>', 'id or name')],
    flags: { name: text('<name>', 'a new name'), ...describedFlags, ...changing() },
    run: async (context, ref, flags) => {
      const { out, work } = context
      const { BroadcastChanges, updateBroadcast } = await import('./broadcasts.ts')
      const { name, project } = flags
      const { excludeList, excludeSegment, ...audience } = audienceOf(flags)
      const without = { excludeList: orNothing(excludeList), excludeSegment: orNothing(excludeSegment) }
      const [topic, sender] = [orNone(flags.topic), orNone(flags.sender)]
      const { subject: subjects, ...contest } = subjectsOf(flags)
      const subject = subjects?.length === 1 ? orNone(subjects[0]) : subjects
      const [replyTo, at, pace] = [orNone(flags.replyTo), await timeOf(context, orNone(flags.at)), orNone(flags.rate)]
      const rate = pace && Number(pace)
      const given = { name, ...audience, ...without, project, topic, subject, ...contest, sender, replyTo, at, rate }
      if (Object.values(given).every((value) => value === undefined)) throw new Problem('usage', 'Nothing to change')
      const changes = await parse(BroadcastChanges, given)
      out.one(await out.named(await work((w) => updateBroadcast(w, ref, changes))))
    },
  }),

  command({
    path: 'broadcasts copy',
    summary: 'Create a draft with the content and the recipients of a broadcast',
    examples: ['svc broadcasts copy October --name November', 'svc broadcasts copy October --name November --json'],
    arguments: [argument('<broadcast>', 'id or name')],
    flags: { name: needed('<name>', 'the name of the draft'), ...changing() },
    run: async ({ out, work }, ref, { name }) => {
      const { copyBroadcast, NewBroadcast } = await import('./broadcasts.ts')
      const parsed = await parse(NewBroadcast.shape.name.unwrap(), name, 'name')
      out.one(await out.named(await work((w) => copyBroadcast(w, ref, parsed))))
    },
  }),

  command({
    path: 'broadcasts pause',
    summary: 'Pause a broadcast; only emails that a relay is already receiving still go out',
    examples: ['svc broadcasts pause October', 'svc broadcasts pause October --json'],
    arguments: [argument('<broadcast>', 'id or name')],
    flags: changing(),
    run: async ({ out, work }, ref) => {
      const { pauseBroadcast } = await import('./broadcasts.ts')
      out.one(await work((w) => pauseBroadcast(w, ref)))
    },
  }),

  command({
    path: 'broadcasts resume',
    summary: 'Continue a paused broadcast where it stopped',
    examples: ['svc broadcasts resume October', 'svc broadcasts resume October --json'],
    arguments: [argument('<broadcast>', 'id or name')],
    flags: changing(),
    run: async ({ out, work }, ref) => {
      const { resumeBroadcast } = await import('./broadcasts.ts')
      out.one(await work((w) => resumeBroadcast(w, ref)))
    },
  }),

  command({
    path: 'broadcasts delete',
    summary: 'Delete a draft, or a broadcast that was cancelled before anything was sent',
    examples: ['svc broadcasts delete October --dry-run', 'svc broadcasts delete October --yes'],
    arguments: [argument('<broadcast>', 'id or name')],
    flags: confirmed('show what would be deleted'),
    run: async ({ confirm, out, trial, work }, ref, flags) => {
      const { deleteBroadcast } = await import('./broadcasts.ts')
      const planned = await trial((w) => deleteBroadcast(w, ref))
      if (!(await confirm(`delete the broadcast ${planned.name}`, flags, planned))) return
      out.one(await work((w) => deleteBroadcast(w, planned.id)))
    },
  }),

  command({
    path: 'broadcasts send',
    summary: 'Send a draft, at its time or at once; daemons send the emails',
    examples: [
      'svc broadcasts send bct_01m82xtw6hfsym1hnj3zvrm5vk --follow',
      'svc broadcasts send bct_01m82xtw6hfsym1hnj3zvrm5vk --dry-run',
    ],
    arguments: [argument('<broadcast>', 'id or name')],
    flags: {
      follow: present('wait until all are sent, with a progress bar'),
      ...confirmed('show how many emails it would send, and how many recipients are suppressed'),
    },
    run: async (context, ref, flags) => {
      const { app, confirm, work } = context
      const { planBroadcast, sendBroadcast } = await import('./broadcasts.ts')
      const plan = await work((w) => planBroadcast(app, w, ref))
      const { id } = plan
      if (!(await confirm(sending(plan), flags, { id, ...planned(plan) }))) return
      const sent = await work((w) => sendBroadcast(app, w, id))
      await startSending(context, sent, flags.follow)
    },
  }),

  command({
    path: 'broadcasts list',
    isDefault: true,
    summary: 'List broadcasts, newest first',
    examples: ['svc broadcasts', 'svc broadcasts list --json'],
    flags: paged,
    run: async ({ pages, work }, flags) => {
      const { listBroadcasts } = await import('./broadcasts.ts')
      await pages('broadcasts', flags, (page) => work((w) => listBroadcasts(w, page)), columns)
    },
  }),

  command({
    path: 'broadcasts show',
    summary: 'Show a broadcast, how far it is, and its results: opens, clicks, answers, bounces by day',
    examples: [
      'svc broadcasts show bct_01m82xtw6hfsym1hnj3zvrm5vk',
      'svc broadcasts show bct_01m82xtw6hfsym1hnj3zvrm5vk --follow',
    ],
    arguments: [argument('<broadcast>', 'id or name')],
    flags: { follow: present('wait until all are sent, with a progress bar') },
    run: async (context, ref, flags) => {
      const { openContestOf, resultsOfBroadcast, showBroadcastInDetail } = await import('./broadcasts.ts')
      const { machineActions } = await import('../results/results.ts')
      const { out, work } = context
      const show = () =>
        work(async (w) => {
          const view = await showBroadcastInDetail(w, ref)
          return [{ ...view, ...(await machineActions(w, view.id)) }, await resultsOfBroadcast(w, view.id)] as const
        })
      const before = await show()
      if (flags.follow) await follow(context, before[0].id)
      const [view, { stats, ...compared }] = flags.follow ? await show() : before
      const contest = out.isTerminal && view.winner === null ? await work((w) => openContestOf(w, view.id)) : null
      const shown = {
        ...(await out.named(view)),
        ...(contest && {
          winner: `the most ${contest.by}, ${span(contest.afterMs)} after the first ${contest.share} %`,
        }),
      }
      printWithResults(out, shown, stats, compared)
    },
  }),

  command({
    path: 'broadcasts cancel',
    summary: 'Stop a broadcast: its unsent emails fail, and their quota is returned',
    examples: ['svc broadcasts cancel bct_01m82xtw6hfsym1hnj3zvrm5vk --dry-run', 'svc broadcasts cancel October --yes'],
    arguments: [argument('<broadcast>', 'id or name')],
    flags: unasked('show how many emails it would stop'),
    run: async (context, ref, { dryRun = false }) => {
      const { cancelBroadcast, showBroadcast } = await import('./broadcasts.ts')
      const { confirm, out, trial, work } = context
      if (dryRun) {
        const before = await work((w) => showBroadcast(w, ref))
        // The dry run also refuses a broadcast that can't be cancelled.
        await trial((w) => cancelBroadcast(w, ref))
        const left = before.status === 'cancelled' ? 0 : before.recipients - ended(before)
        await confirm(`stop up to ${emails(left)}`, { dryRun }, before)
        return
      }
      const { id } = await work((w) => cancelBroadcast(w, ref))
      await queue(context, id, ended)
      out.one(await out.named(await work((w) => showBroadcast(w, id))))
    },
  }),
]
