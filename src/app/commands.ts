import type { CommandSet } from '../cli/command.ts'

/** Commands by the nouns that they give verbs to; a command loads those of its noun alone. */
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
 * The commands of every noun that stands among the arguments, since a flag's value may look like one; all of them where none
 * does, as for `svc --help`.
 */
export const loadCommands = async (args: readonly string[] = []): Promise<CommandSet[]> => {
  const asked = sets.filter(([nouns]) => nouns.some((noun) => args.includes(noun)))
  return Promise.all((asked.length > 0 ? asked : sets).map(([, load]) => load()))
}

/** Which nouns each set says that it has. */
export const nounsOfSets = (): readonly (readonly string[])[] => sets.map(([nouns]) => nouns)
