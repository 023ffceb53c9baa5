import { type CommandList, group } from '../cli/define.ts'

/** The nouns of `svc --help` by heading, each in a few words and in a sentence, so that it loads no command. */
const groups: Readonly<Record<string, Readonly<Record<string, readonly [brief: string, sentence: string]>>>> = {
  'Getting started:': {
    dev: [
      'run everything here',
      'Run everything on this machine: database, API, jobs, a console, caught email and a demo account',
    ],
    doctor: ['check, and suggest fixes', 'Check everything a daemon needs, and suggest fixes'],
    completion: ['completion for a shell', 'Print the completion script of a shell: source <(svc completion bash)'],
  },
  'Audience:': {
    contacts: ['people and their fields', 'Contacts: addresses in lists, with their fields'],
    lists: ['contact lists', 'Contact lists'],
    segments: ['contacts by a filter', 'Segments: the contacts of a list that meet a filter'],
    imports: ['imported files', 'Imports of contacts: progress, resuming, rejected rows'],
    forms: ['signup pages', 'Signup forms and their hosted pages'],
    score: ['lead scores', 'Lead scores'],
    'access-log': ['reads by API keys', 'The log of API keys that read contacts'],
    suppressions: ['who gets no email', 'Addresses that get no email, or no marketing email'],
  },
  'Messages:': {
    send: ['send one email', 'Send one email and show its result'],
    sends: ['sent and failed emails', 'Sent, queued and failed emails'],
    broadcasts: ['campaigns to lists', 'Marketing emails to the active contacts of lists and segments'],
    topics: ['what people can leave', 'Topics of marketing email, which people can leave'],
    projects: ['email designs', 'Studio projects: email designs of blocks, rendered for each recipient'],
    liveview: ['what a recipient sees', 'The live view of an email: what its recipient sees and answers'],
    relay: ['the SMTP relay', 'The SMTP relay of the account'],
    senders: ['From addresses', 'Senders: the addresses that email may come from'],
    domains: ['DKIM of domains', 'Sending domains and their DKIM records'],
    bounces: ['bounces and complaints', 'Delivery reports and complaints, and the mailbox that receives them'],
  },
  'Sales and courses:': {
    deals: ['deals and the board', 'Deals and their stages'],
    pipelines: ['pipelines and stages', 'Pipelines and their stages'],
    journeys: ['automated steps', 'Journeys: automated steps for contacts'],
    webinars: ['live sessions', 'Webinars: live sessions and their registrations'],
    courses: ['lessons and members', 'Courses, lessons and members'],
    bindings: ['designs of their emails', 'The projects used for emails of courses and webinars'],
    bookings: ['booked times', 'Times booked by recipients'],
    payments: ['payments, the provider', 'Payments and the payment provider'],
  },
  'Events and webhooks:': {
    webhooks: ['subscriptions', 'Webhook subscriptions'],
    events: ['list, sample and send', 'Events: list, sample and send them'],
    deliveries: ['inspect, replay, cancel', 'Webhook deliveries: inspect, replay, cancel'],
    listen: ['receive webhooks here', 'Receive webhooks here: verify and print each, or forward it'],
  },
  'Operate:': {
    serve: ['run the API and the jobs', 'Run the daemon: the API and the jobs'],
    jobs: ['background jobs', 'Background jobs: deliveries, email, journeys, housekeeping'],
    queues: ['pause and resume', 'Queues: pause and resume what leaves, show what is due'],
    status: ['daemons and queues', 'Show daemons, queues, the last hour, and accounts near a limit'],
    stats: ['an account by day', 'Show contacts, email, deals and deliveries of an account, by day'],
    accounts: ['accounts and usage', 'Accounts, their plans and usage'],
    plans: ['plans and limits', 'Plans and their limits'],
    keys: ['API keys', 'API keys'],
    db: ['migrate, back up', 'The database: status, migrations, backup and restore'],
    config: ['settings and sources', 'Show each setting, its value and its source'],
    secret: ['rotate SVC_SECRET', 'The secret that seals stored credentials (SVC_SECRET)'],
  },
  'Develop:': {
    api: ['call the REST API', 'Call the API of the running daemon with the key in SVC_API_KEY (or SVC_API_KEY_FILE)'],
    openapi: ['the OpenAPI document', 'Print the OpenAPI document of the REST API'],
    mcp: ['tools for AI agents', 'Serve an account to AI agents: the Model Context Protocol over stdin and stdout'],
    mail: ['email caught by svc dev', 'Email caught by svc dev'],
    clock: ['a clock to advance', 'The clock of a development database: show, advance, reset'],
  },
}

const nouns: CommandList = Object.entries(groups).flatMap(([heading, nouns]) =>
  Object.entries(nouns).map(([path, [brief, summary]]) => group({ path, heading, brief, summary })),
)

/** Lists of commands, and the nouns to which they add verbs. A command loads only the lists of its noun. */
const lists: readonly [nouns: readonly string[], load: () => Promise<CommandList>][] = [
  [['serve', 'jobs', 'db', 'openapi'], async () => (await import('../app/daemon/daemon.commands.ts')).commands],
  [['config'], async () => (await import('../app/operate/config.commands.ts')).commands],
  [['queues'], async () => (await import('../app/operate/queues.commands.ts')).commands],
  [['status'], async () => (await import('../app/operate/status.commands.ts')).commands],
  [['jobs'], async () => (await import('../app/daemon/jobs.commands.ts')).commands],
  [['doctor'], async () => (await import('../app/operate/doctor.commands.ts')).commands],
  [['completion'], async () => (await import('./completion/completion.commands.ts')).commandsOf(loadCommands)],
  [['db'], async () => (await import('../app/backup/backup.commands.ts')).commands],
  [['secret'], async () => (await import('../app/operate/rotate.commands.ts')).commands],
  [['dev'], async () => (await import('./dev/dev.commands.ts')).commands],
  [['api'], async () => (await import('../app/api.commands.ts')).commands],
  [['mcp'], async () => (await import('./mcp/mcp.commands.ts')).commands],
  [['clock'], async () => (await import('./dev/clock.commands.ts')).commands],
  [['mail'], async () => (await import('./catcher/mail.commands.ts')).commands],
  [['accounts', 'plans', 'keys'], async () => (await import('../accounts/accounts.commands.ts')).commands],
  [['accounts'], async () => (await import('../app/move/move.commands.ts')).commands],
  [
    ['lists', 'contacts', 'access-log'],
    async () => {
      const { commandsOf } = await import('../contacts/contacts.commands.ts')
      return commandsOf(async (...given) => (await import('../segments/segments.ts')).narrow(...given))
    },
  ],
  [['segments'], async () => (await import('../segments/segments.commands.ts')).commands],
  [['imports'], async () => (await import('../contacts/imports/imports.commands.ts')).commands],
  [
    ['projects'],
    async () => {
      const { commandsOf } = await import('../studio/studio.commands.ts')
      return commandsOf(async (work, id) => {
        const { machineActions, resultsOf } = await import('../results/results.ts')
        return { results: await resultsOf(work, id), beside: await machineActions(work, id) }
      })
    },
  ],
  [['relay', 'senders', 'domains'], async () => (await import('../senders/senders.commands.ts')).commands],
  [['send', 'sends'], async () => (await import('../messages/messages.commands.ts')).commands],
  [['suppressions'], async () => (await import('../suppressions/suppressions.commands.ts')).commands],
  [['topics'], async () => (await import('../suppressions/topics.commands.ts')).commands],
  [['bounces'], async () => (await import('../bounces/bounces.commands.ts')).commands],
  [['broadcasts'], async () => (await import('../broadcasts/broadcasts.commands.ts')).commands],
  [
    ['liveview', 'score', 'contacts', 'projects'],
    async () => {
      const { commandsOf } = await import('../engagement/engagement.commands.ts')
      return commandsOf(async () => (await import('../app/features.ts')).loadBlocks())
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
  [['stats'], async () => (await import('../stats/stats.commands.ts')).commands],
  [['listen'], async () => (await import('../webhooks/listen.commands.ts')).commands],
]

/**
 * Loads the nouns, and the commands of every noun among the arguments: a flag's value may look like a noun, so position
 * does not decide. Without arguments it loads all commands.
 */
export const loadCommands = async (args?: readonly string[]): Promise<CommandList[]> => {
  const asked = args ? lists.filter(([nouns]) => nouns.some((noun) => args.includes(noun))) : lists
  return [nouns, ...(await Promise.all(asked.map(([, load]) => load())))]
}

/** Loads each list of commands with its declared nouns. */
export const loadLists = (): Promise<(readonly [nouns: readonly string[], list: CommandList])[]> =>
  Promise.all(lists.map(async ([nouns, load]) => [nouns, await load()] as const))
