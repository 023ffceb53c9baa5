import { leaves } from './references.ts'

/* Every command that prints a table, for tests that look at all of them. test/cli/tables.test.ts finds those that are missing here. */

/** Lists that need an argument, and those under other verbs than `list`, with placeholders for what an account has (furnish.ts). */
const calls: Readonly<Record<string, string>> = {
  'pipelines stages list': '{pipeline}',
  'courses lessons list': '{course}',
  'journeys runs': '{journey}',
  'imports rejects': '{import}',
  'webinars registrations': '{webinar}',
  'webinars attendees': '{webinar}',
  'courses members': '{course}',
  'deals history': '{deal}',
  'deals move': '{deal} --to {stage} --dry-run',
  'contacts show': '{email}',
  'events types': '',
  'deliveries stats': '',
  'accounts usage': '',
  'domains show': '{domain}',
  'domains verify': '{domain}',
  'journeys show': '{journey}',
  'journeys test': '--file {journeyfile} --contact {email}',
  'projects responses': '{project}',
  'queues show': '',
}

/** The words after each list. */
export const lists: ReadonlyMap<string, string[]> = new Map(
  [...new Set([...[...leaves.keys()].filter((name) => / list$/.test(name)), ...Object.keys(calls)])].map((name) => [
    name,
    calls[name]?.split(' ').filter(Boolean) ?? [],
  ]),
)

/** Tables with texts of the machine or of its processes, and those that another command prints too. */
export const otherTables: readonly string[] = ['config', 'doctor', 'jobs status', 'queues pause']
