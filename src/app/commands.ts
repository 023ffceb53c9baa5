import type { CommandSet } from '../cli/command.ts'

/** Commands by the nouns that they give verbs to; a command loads those of its noun alone. */
/** What `svc --help` shows: it loads no command. */
const summaries: Readonly<Record<string, string>> = {
  serve: 'Run the daemon: the API and the jobs',
  jobs: 'The background jobs: deliveries, mail, journeys, housekeeping',
  db: 'The database and its schema',
  openapi: 'Print the OpenAPI document of the REST API',
  config: 'Show each setting, its value and where it comes from; secrets as "set"',
  status: 'Show daemons, queues, the last hour, and accounts near a limit',
  doctor: 'Look at everything a daemon needs, and say what to do where something is wrong',
  completion: 'Print what a shell reads to complete svc: source <(svc completion bash)',
  secret: 'SVC_SECRET, which seals what is stored',
  dev: 'Run everything on this machine: database, API, jobs, a console of webhooks and mail, and a demo account',
  api: 'Call the API of the running daemon with the key in SVC_API_KEY (or _FILE), and print what it answers',
  clock: 'The clock of a development database (svc dev): journeys, retries and expiry follow it',
  mail: 'Mail that the catcher of svc dev has caught',
  accounts: 'Accounts, their plans and what they have used',
  plans: 'Plans and their limits',
  keys: 'API keys',
  lists: 'Contact lists',
  contacts: 'Contacts: addresses in lists, with their fields',
  'access-log': 'Who read which contacts',
  imports: 'Imports of contacts: how far they are, and going on with them',
  projects: 'Studio projects: mails of blocks, rendered for each recipient',
  relay: 'The SMTP relay that the account’s mail leaves by',
  senders: 'Senders: who the account’s mail may be from',
  domains: 'Domains that the account sends from, signed by DKIM',
  send: 'Send one mail, and tell what became of it',
  sends: 'Mails that were sent, or were to be',
  suppressions: 'Addresses that get no mail, or no marketing',
  bounces: 'Delivery reports and complaints, and the mailbox that they come to',
  broadcasts: 'Broadcasts: one marketing mail to every active contact of a list',
  liveview: 'The live view of a mail: what its recipient sees and answers',
  score: 'The lead score of an address',
  bookings: 'Times that recipients have booked in mails',
  payments: 'Payments by the checkouts of mails',
  forms: 'Signup forms: hosted pages by which people come into a list',
  pipelines: 'Pipelines: the boards that deals move on',
  deals: 'Deals: contacts on their way through a pipeline',
  journeys: 'Journeys: what contacts go through, step by step',
  bindings: 'Which projects the mails of courses and webinars are made of',
  courses: 'Courses, their lessons and their members',
  webinars: 'Webinars: live sessions, with their registrations',
  deliveries: 'Deliveries: events on their way to webhooks',
  webhooks: 'Webhook subscriptions: which URL gets which events',
  events: 'Events: what webhooks are told of',
  listen: 'Receive webhooks here: verify and print each, or hand it on',
}

const sets: readonly [nouns: readonly string[], load: () => Promise<CommandSet>][] = [
  [['serve', 'jobs', 'db', 'openapi'], async () => (await import('./daemon.commands.ts')).commands],
  [['config'], async () => (await import('./operate/config.commands.ts')).commands],
  [['status'], async () => (await import('./operate/status.commands.ts')).commands],
  [['jobs'], async () => (await import('./operate/jobs.commands.ts')).commands],
  [['doctor'], async () => (await import('./operate/doctor.commands.ts')).commands],
  [['completion'], async () => (await import('./operate/completion.commands.ts')).commands],
  [['db'], async () => (await import('./operate/backup.commands.ts')).commands],
  [['secret'], async () => (await import('./operate/rotate.commands.ts')).commands],
  [['dev'], async () => (await import('./dev.commands.ts')).commands],
  [['api'], async () => (await import('./api.commands.ts')).commands],
  [['clock'], async () => (await import('./clock.commands.ts')).commands],
  [['mail'], async () => (await import('./mail.commands.ts')).commands],
  [['accounts', 'plans', 'keys'], async () => (await import('../accounts/accounts.commands.ts')).commands],
  [['lists', 'contacts', 'access-log'], async () => (await import('../contacts/contacts.commands.ts')).commands],
  [['imports'], async () => (await import('../contacts/imports.commands.ts')).commands],
  [['projects'], async () => (await import('../studio/studio.commands.ts')).commands],
  [['relay', 'senders', 'domains'], async () => (await import('../messages/methods.commands.ts')).commands],
  [['send', 'sends'], async () => (await import('../messages/messages.commands.ts')).commands],
  [['suppressions'], async () => (await import('../messages/suppressions.commands.ts')).commands],
  [['bounces'], async () => (await import('../messages/bounces.commands.ts')).commands],
  [['broadcasts'], async () => (await import('../broadcasts/broadcasts.commands.ts')).commands],
  [
    ['liveview', 'score', 'contacts', 'projects'],
    async () => {
      const { commandsOf } = await import('../engagement/engagement.commands.ts')
      return commandsOf(async () => (await import('./features.ts')).loadBlocks())
    },
  ],
  [['bookings'], async () => (await import('../bookings/bookings.commands.ts')).commands],
  [['payments'], async () => (await import('../checkout/checkout.commands.ts')).commands],
  [['forms'], async () => (await import('../forms/forms.commands.ts')).commands],
  [['pipelines'], async () => (await import('../deals/pipelines.commands.ts')).commands],
  [['deals'], async () => (await import('../deals/deals.commands.ts')).commands],
  [['journeys'], async () => (await import('../journeys/journeys.commands.ts')).commands],
  [['bindings'], async () => (await import('../lifecycle/lifecycle.commands.ts')).commands],
  [['courses'], async () => (await import('../courses/courses.commands.ts')).commands],
  [['webinars'], async () => (await import('../webinars/webinars.commands.ts')).commands],
  [['deliveries'], async () => (await import('../deliveries/deliveries.commands.ts')).commands],
  [['webhooks', 'events'], async () => (await import('../webhooks/webhooks.commands.ts')).commands],
  [['listen'], async () => (await import('../webhooks/listen.commands.ts')).commands],
]

/**
 * The nouns, and the commands of each noun that stands among the arguments, since a flag's value may look like one; without
 * arguments all of them.
 */
export const loadCommands = async (args?: readonly string[]): Promise<CommandSet[]> => {
  const nouns: CommandSet = (cli) => {
    for (const [noun, summary] of Object.entries(summaries)) cli.noun(noun).description(summary)
  }
  const asked = args ? sets.filter(([nouns]) => nouns.some((noun) => args.includes(noun))) : sets
  return [nouns, ...(await Promise.all(asked.map(([, load]) => load())))]
}

/** Which nouns each set says that it has, and what it is. */
export const loadSets = (): Promise<(readonly [nouns: readonly string[], set: CommandSet])[]> =>
  Promise.all(sets.map(async ([nouns, load]) => [nouns, await load()] as const))
