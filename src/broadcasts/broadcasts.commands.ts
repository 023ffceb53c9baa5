import { setTimeout as sleep } from 'node:timers/promises'
import {
  type CommandSet,
  type Confirmation,
  type Context,
  changing,
  confirmed,
  examples,
  gather,
  paged,
} from '../cli/command.ts'
import { type Column, printWithResults, span } from '../cli/output.ts'
import type { PageFlags } from '../lib/page-request.ts'
import { Problem } from '../lib/problem.ts'
import { number, quantity } from '../lib/quantity.ts'
import type { BroadcastView, Plan } from './broadcasts.ts'

const columns: Column<BroadcastView>[] = [
  ['ID', (row) => row.id],
  ['NAME', (row) => row.name],
  ['STATUS', (row) => row.status],
  ['RECIPIENTS', (row) => row.recipients],
  ['QUEUED', (row) => row.queued],
  ['SENT', (row) => row.sent],
  ['FAILED', (row) => row.failed],
  ['SUPPRESSED', (row) => row.suppressed],
  ['SCHEDULED', (row) => (row.scheduledAt === null ? null : new Date(row.scheduledAt))],
  ['CREATED', (row) => new Date(row.createdAt)],
  ['LIST', (row) => row.listId],
  ['PROJECT', (row) => row.projectId],
]

interface CreateFlags extends Confirmation {
  name?: string
  list: string[]
  where?: string
  segment: string[]
  all?: boolean
  excludeList: string[]
  excludeSegment: string[]
  project?: string
  topic?: string
  subject: string[]
  share?: string
  winner?: string
  after?: string
  sender?: string
  replyTo?: string
  at?: string
  rate?: string
  send?: boolean
  follow?: boolean
}

const followMs = 1000
const noDaemon = 'Nothing is sent until a daemon runs: svc serve, or svc jobs run'

const emails = (count: number) => quantity(count, 'email')

/** Shows a progress bar on stderr: the share of the recipients that `done` counts. */
const watch = ({ progress, work }: Context, id: string, done: (view: BroadcastView) => number) => {
  const bar = progress('emails')
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
  const sender = from.name === '' ? from.email : `${from.name} <${from.email}>`
  const leftOut = suppressed > 0 ? `, leaving out ${number(suppressed)} suppressed` : ''
  const topic = topicName === undefined ? '' : `, about ${topicName}`
  const people = quantity(mails, 'person', 'people')
  const version = `version ${plan.projectVersion} of its project${tested(plan)}`
  const lines = (subjects ?? [subject]).map((line) => `"${line}"`).join(' or ')
  const rest = contest
    ? ` to ${contest.share} % of them, and ${span(contest.afterMs)} later to the rest the one that was ${contest.by} most`
    : ''
  const pace = rate === null ? '' : `, at most ${number(rate)} a minute`
  return `email ${people} of ${audience}${leftOut}${topic}: ${lines}${rest}, from ${sender}, ${version}, ${at ? `at ${at.toISOString()}` : 'at once'}${pace}`
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
const audienceOf = ({ list, where, segment, all, excludeList, excludeSegment }: CreateFlags) => {
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
const subjectsOf = ({ subject, share, winner, after }: CreateFlags) => ({
  subject: subject.length > 0 ? subject : undefined,
  share,
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
  const { parseTime } = await import('../lib/since.ts')
  return new Date(parseTime(at, app.now().getTime(), await timezone())).toISOString()
}

const create = async (context: Context, flags: CreateFlags): Promise<void> => {
  const { app, confirm, out, trial, work } = context
  if (flags.follow && !flags.send) throw new Problem('usage', '--follow needs --send: a draft sends nothing')
  const isNamed = flags.all || flags.list.length + flags.segment.length > 0
  const asked: { list?: string; project?: string } = { ...(flags.project !== undefined && { project: flags.project }) }
  await context.require(asked, ...(isNamed ? [] : (['list'] as const)), 'project')
  const [operations, { parse }] = await Promise.all([import('./broadcasts.ts'), import('../lib/parse.ts')])
  const { createBroadcast, planBroadcast, sendBroadcast } = operations
  const { name, topic, sender, replyTo, rate } = flags
  const at = await timeOf(context, flags.at)
  const letter = { name, topic, sender, replyTo, at, rate, ...subjectsOf(flags) }
  const input = parse(operations.NewBroadcast, { ...letter, ...audienceOf(flags), ...asked })
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

/** Adds `svc broadcasts`. */
export const commands: CommandSet = (cli) => {
  const noun = cli.noun('broadcasts')

  /** Adds the options that describe a broadcast. */
  const described = (command: ReturnType<typeof noun.command>) =>
    command
      .option(
        '--list <id|name>',
        'the recipients: the list’s active contacts when sending begins (repeatable)',
        gather,
        [],
      )
      .option('--where <filter>', 'only contacts of each list that meet this filter when sending begins')
      .option(
        '--segment <id|name>',
        'the recipients: the segment’s active contacts when sending begins (repeatable)',
        gather,
        [],
      )
      .option('--all', 'the recipients: every address with an active contact')
      .option('--exclude-list <id|name>', 'leave out the addresses in this list (repeatable)', gather, [])
      .option('--exclude-segment <id|name>', 'leave out the addresses in this segment (repeatable)', gather, [])
      .option('--project <id|name>', 'the project to render')
      .option('--topic <id|name>', 'the topic of its emails: people who left it get none')
      .option(
        '--subject <subject>',
        'the subject (default: the name of the project); up to four: each recipient gets one',
        gather,
        [],
      )
      .option(
        '--share <percent>',
        'with several subjects: percentage of recipients who get them; the rest gets the best one',
      )
      .option('--winner <metric>', 'with --share: what makes a subject the best: opened, clicked or answered')
      .option(
        '--after <duration>',
        'with --share: when to choose it, such as 4h after the last email of the share was queued',
      )
      .option('--sender <id|address>', 'the sender (default: the account’s default sender)')
      .option('--reply-to <address>', 'the Reply-To address (default: that of the sender)')
      .option('--at <time>', 'start of sending, such as 2026-12-01T09:00:00Z or 2d (default: at once)')
      .option('--rate <n>', 'maximum emails per minute')

  confirmed(
    described(
      noun
        .command('create')
        .description('Create a draft of an email to every active contact of a list or segment')
        .addHelpText(
          'after',
          examples(
            'svc broadcasts create --name October --list Customers --project Welcome',
            'svc broadcasts create --segment "Active customers" --project Welcome --at 2026-12-01T09:00:00Z --rate 100',
          ),
        )
        .option('--name <name>', 'its name in lists (default: the name of the project)'),
    )
      .option('--send', 'also send it, after a confirmation')
      .option('--follow', 'with --send: wait until all are sent, with a progress bar'),
    'show how many emails it would send, and how many recipients are suppressed',
  ).action(cli.run((context, flags: CreateFlags) => create(context, flags)))

  noun
    .command('test')
    .description('Send a test email of a broadcast, with [Test] in its subject and without tracking')
    .addHelpText(
      'after',
      examples(
        'svc broadcasts test bct_01m82xtw6hfsym1hnj3zvrm5vk --to you@example.com',
        'svc broadcasts test bct_01m82xtw6hfsym1hnj3zvrm5vk --to you@example.com --json',
      ),
    )
    .argument('<broadcast>', 'id or name')
    .option('--to <email>', 'the recipient; merge fields are filled if the list has this contact')
    .action(
      cli.run(async (context, ref: string, flags: { to?: string }) => {
        const { account, actor, app, exit, out, require } = context
        const { to } = await require(flags, 'to')
        const { testBroadcast } = await import('./broadcasts.ts')
        const result = await testBroadcast(app, (await account()).id, actor, ref, to)
        out.one(result)
        if (result.status === 'failed') exit(1)
      }),
    )

  changing(
    described(
      noun
        .command('update')
        .description('Change a draft; the value none removes a topic, time, rate, subject, sender or Reply-To')
        .addHelpText(
          'after',
          examples(
            'svc broadcasts update October --subject "News of October" --rate 100',
            'svc broadcasts update October --at none',
          ),
        )
        .argument('<broadcast>', 'id or name')
        .option('--name <name>', 'a new name'),
    ),
  ).action(
    cli.run(async (context, ref: string, flags: CreateFlags & Confirmation) => {
      const { out, work } = context
      const [{ BroadcastChanges, updateBroadcast }, { parse }] = await Promise.all([
        import('./broadcasts.ts'),
        import('../lib/parse.ts'),
      ])
      const { name, project } = flags
      const { excludeList, excludeSegment, ...audience } = audienceOf(flags)
      const without = { excludeList: orNothing(excludeList), excludeSegment: orNothing(excludeSegment) }
      const [topic, sender] = [orNone(flags.topic), orNone(flags.sender)]
      const { subject: subjects, ...contest } = subjectsOf(flags)
      const subject = subjects?.length === 1 ? orNone(subjects[0]) : subjects
      const [replyTo, at, rate] = [orNone(flags.replyTo), await timeOf(context, orNone(flags.at)), orNone(flags.rate)]
      const given = { name, ...audience, ...without, project, topic, subject, ...contest, sender, replyTo, at, rate }
      if (Object.values(given).every((value) => value === undefined)) throw new Problem('usage', 'Nothing to change')
      const changes = parse(BroadcastChanges, given)
      out.one(await out.named(await work((w) => updateBroadcast(w, ref, changes))))
    }),
  )

  changing(
    noun
      .command('copy')
      .description('Create a draft with the content and the recipients of a broadcast')
      .addHelpText(
        'after',
        examples('svc broadcasts copy October --name November', 'svc broadcasts copy October --name November --json'),
      )
      .argument('<broadcast>', 'id or name')
      .option('--name <name>', 'the name of the draft'),
  ).action(
    cli.run(async ({ out, require, work }, ref: string, flags: { name?: string }) => {
      const { name } = await require(flags, 'name')
      const [{ copyBroadcast, NewBroadcast }, { parse }] = await Promise.all([
        import('./broadcasts.ts'),
        import('../lib/parse.ts'),
      ])
      const parsed = parse(NewBroadcast.shape.name.unwrap(), name, 'name')
      out.one(await out.named(await work((w) => copyBroadcast(w, ref, parsed))))
    }),
  )

  changing(
    noun
      .command('pause')
      .description('Pause a broadcast; only emails that a relay is already receiving still go out')
      .addHelpText('after', examples('svc broadcasts pause October', 'svc broadcasts pause October --json'))
      .argument('<broadcast>', 'id or name'),
  ).action(
    cli.run(async ({ out, work }, ref: string) => {
      const { pauseBroadcast } = await import('./broadcasts.ts')
      out.one(await work((w) => pauseBroadcast(w, ref)))
    }),
  )

  changing(
    noun
      .command('resume')
      .description('Continue a paused broadcast where it stopped')
      .addHelpText('after', examples('svc broadcasts resume October', 'svc broadcasts resume October --json'))
      .argument('<broadcast>', 'id or name'),
  ).action(
    cli.run(async ({ out, work }, ref: string) => {
      const { resumeBroadcast } = await import('./broadcasts.ts')
      out.one(await work((w) => resumeBroadcast(w, ref)))
    }),
  )

  confirmed(
    noun
      .command('delete')
      .description('Delete a draft, or a broadcast that was cancelled before anything was sent')
      .addHelpText('after', examples('svc broadcasts delete October --dry-run', 'svc broadcasts delete October --yes'))
      .argument('<broadcast>', 'id or name'),
    'show what would be deleted',
  ).action(
    cli.run(async ({ confirm, out, trial, work }, ref: string, flags: Confirmation) => {
      const { deleteBroadcast } = await import('./broadcasts.ts')
      const planned = await trial((w) => deleteBroadcast(w, ref))
      if (!(await confirm(`delete the broadcast ${planned.name}`, flags, planned))) return
      out.one(await work((w) => deleteBroadcast(w, planned.id)))
    }),
  )

  confirmed(
    noun
      .command('send')
      .description('Send a draft, at its time or at once; daemons send the emails')
      .addHelpText(
        'after',
        examples(
          'svc broadcasts send bct_01m82xtw6hfsym1hnj3zvrm5vk --follow',
          'svc broadcasts send bct_01m82xtw6hfsym1hnj3zvrm5vk --dry-run',
        ),
      )
      .argument('<broadcast>', 'id or name')
      .option('--follow', 'wait until all are sent, with a progress bar'),
    'show how many emails it would send, and how many recipients are suppressed',
  ).action(
    cli.run(async (context, ref: string, flags: Confirmation & { follow?: boolean }) => {
      const { app, confirm, work } = context
      const { planBroadcast, sendBroadcast } = await import('./broadcasts.ts')
      const plan = await work((w) => planBroadcast(app, w, ref))
      const { id } = plan
      if (!(await confirm(sending(plan), flags, { id, ...planned(plan) }))) return
      const sent = await work((w) => sendBroadcast(app, w, id))
      await startSending(context, sent, flags.follow)
    }),
  )

  paged(
    noun
      .command('list', { isDefault: true })
      .description('List broadcasts, newest first')
      .addHelpText('after', examples('svc broadcasts', 'svc broadcasts list --json')),
  ).action(
    cli.run(async ({ pages, work }, flags: PageFlags) => {
      const { listBroadcasts } = await import('./broadcasts.ts')
      await pages('broadcasts', flags, (page) => work((w) => listBroadcasts(w, page)), columns)
    }),
  )

  noun
    .command('show')
    .description('Show a broadcast, how far it is, and its results: opens, clicks, answers, bounces by day')
    .addHelpText(
      'after',
      examples(
        'svc broadcasts show bct_01m82xtw6hfsym1hnj3zvrm5vk',
        'svc broadcasts show bct_01m82xtw6hfsym1hnj3zvrm5vk --follow',
      ),
    )
    .argument('<broadcast>', 'id or name')
    .option('--follow', 'wait until all are sent, with a progress bar')
    .action(
      cli.run(async (context, ref: string, flags: { follow?: boolean }) => {
        const [{ resultsOfBroadcast, showBroadcastInDetail }, { machineActions }] = await Promise.all([
          import('./broadcasts.ts'),
          import('../messages/messages.ts'),
        ])
        const { out, work } = context
        const show = () =>
          work(async (w) => {
            const view = await showBroadcastInDetail(w, ref)
            return [{ ...view, ...(await machineActions(w, view.id)) }, await resultsOfBroadcast(w, view.id)] as const
          })
        const before = await show()
        if (flags.follow) await follow(context, before[0].id)
        const [view, { stats, ...compared }] = flags.follow ? await show() : before
        printWithResults(out, await out.named(view), stats, compared)
      }),
    )

  noun
    .command('cancel')
    .description('Stop a broadcast: its unsent emails fail, and their quota is returned')
    .addHelpText(
      'after',
      examples('svc broadcasts cancel bct_01m82xtw6hfsym1hnj3zvrm5vk --dry-run', 'svc broadcasts cancel October --yes'),
    )
    .argument('<broadcast>', 'id or name')
    .option('--yes', 'accepted for scripts; this command never asks')
    .option('--dry-run', 'show how many emails it would stop')
    .action(
      cli.run(async (context, ref: string, { dryRun = false }: Confirmation) => {
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
      }),
    )
}
