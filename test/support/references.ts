import { fullCommand } from '../../src/cli/next.ts'
import { buildCommands, leavesOf } from './commands.ts'

/* Every command that takes an id, a name or an address of something, for tests that walk over all of them. */

/**
 * Each command with placeholders for what an account has (furnish.ts). A new command that takes an id must be added here; where it
 * takes several, tests replace each in turn.
 */
export const calls = `
  contacts list --list {list}
  contacts list --segment {segment}
  contacts show {email}
  contacts export --list {list}
  contacts export --segment {segment}
  contacts export --email {email}
  contacts upsert --list {list} --email new@people.example
  contacts verify {email}
  contacts verify --list {list}
  contacts remove {email} --list {list}
  contacts erase {email}
  contacts import {file} --list {list}
  contacts score {email}
  lists show {list}
  lists rename {list} other
  lists delete {list}
  segments create --name other --list {list} --where plan=pro
  segments show {segment}
  segments update {segment} --name x
  segments delete {segment}
  imports show {import}
  imports resume {import}
  imports rejects {import}
  forms create --name other --list {list}
  forms update {form} --list {list}
  forms show {form}
  forms submit {form} --email new@people.example
  forms delete {form}
  score show {email}
  suppressions list --topic {topic}
  suppressions list --email {suppressed}
  suppressions add new@people.example --topic {topic}
  suppressions remove {suppressed}
  suppressions remove {suppressed} --topic {topic}
  send --to new@people.example --project {project} --at 2d
  send --to new@people.example --subject other --html {file} --text {file} --type marketing --topic {topic} --at 2d
  send --to new@people.example --subject other --html {file} --text {file} --sender {sender} --at 2d
  sends list --to {email}
  sends show {send}
  sends cancel {send}
  broadcasts create --list {list} --project {project} --sender {sender}
  broadcasts create --segment {segment} --project {project} --topic {topic}
  broadcasts create --list {list} --exclude-list {list} --project {project}
  broadcasts create --all --exclude-segment {segment} --project {project}
  broadcasts update {broadcast} --exclude-list {list}
  broadcasts update {broadcast} --exclude-segment {segment}
  broadcasts test {broadcast} --to new@people.example
  broadcasts send {broadcast}
  broadcasts show {broadcast}
  broadcasts cancel {broadcast}
  broadcasts update {broadcast} --list {list}
  broadcasts update {broadcast} --segment {segment}
  broadcasts update {broadcast} --project {project} --topic {topic} --sender {sender}
  broadcasts copy {broadcast} --name Copy
  broadcasts pause {broadcast}
  broadcasts resume {broadcast}
  broadcasts delete {broadcast}
  topics update {topic} --name x
  topics delete {topic}
  projects show {project}
  projects render {project}
  projects delete {project}
  projects responses {project}
  projects webhook set {project} --url https://hooks.example.com/
  projects webhook unset {project}
  projects webhook test {project}
  liveview url {send}
  senders default {sender}
  senders delete {sender}
  domains show {domain}
  domains verify {domain}
  domains delete {domain}
  deals list --pipeline {pipeline} --stage {stage}
  deals list --email {email}
  deals show {deal}
  deals history {deal}
  deals board --pipeline {pipeline}
  deals create --title other --email {email} --list {list} --pipeline {pipeline} --stage {stage}
  deals create --title other --list {list} --row {row}
  deals move {deal} --to {stage}
  deals update {deal} --stage {stage}
  deals delete {deal}
  pipelines default {pipeline}
  pipelines stages list {pipeline}
  pipelines stages add {pipeline} --name other
  pipelines stages reorder {pipeline} {stage}
  pipelines stages rename {stage} other --pipeline {pipeline}
  pipelines stages set-kind {stage} won --pipeline {pipeline}
  pipelines stages delete {stage} --pipeline {pipeline} --move-deals-to {stage}
  journeys show {journey}
  journeys enable {journey}
  journeys disable {journey}
  journeys test -f {journeyfile} --contact {email}
  journeys trigger {journey} --email new@people.example --list {list}
  journeys trigger {journey} --segment {segment}
  journeys runs {journey}
  journeys runs {journey} --run {run}
  journeys end-run {run}
  journeys delete {journey}
  webinars show {webinar}
  webinars registrations {webinar}
  webinars attendees {webinar}
  webinars create --title other --course {course}
  webinars update {webinar} --title other
  webinars start {webinar}
  webinars end {webinar}
  webinars cancel {webinar}
  webinars promote {webinar} {registration}
  webinars free {webinar} {registration}
  webinars delete {webinar}
  courses show {course}
  courses update {course} --title other
  courses publish {course}
  courses unpublish {course}
  courses members {course}
  courses enroll {course} --email new@people.example
  courses revoke {course} --email new@people.example
  courses embed-token {course} --email {email}
  courses delete {course}
  courses lessons list {course}
  courses lessons add {course} --title other --content text
  courses lessons update {course} {lesson} --title other
  courses lessons move {course} {lesson} --before {lesson}
  courses lessons delete {course} {lesson}
  bindings set course:{course} enrolled {project} --sender {sender}
  bindings unset course:{course} enrolled
  bookings list --email {email}
  bookings show {booking}
  bookings cancel {booking}
  payments show {payment}
  webhooks show {webhook}
  webhooks update {webhook} --url https://hooks.example.com/other
  webhooks delete {webhook}
  webhooks enable {webhook}
  webhooks disable {webhook}
  webhooks rotate-secret {webhook}
  webhooks test {webhook}
  events show {event}
  deliveries list --webhook {webhook}
  deliveries show {delivery}
  deliveries replay {delivery}
  deliveries replay --webhook {webhook}
  deliveries cancel {delivery}
  deliveries cancel --webhook {webhook}
  deliveries stats --webhook {webhook}
  keys revoke {key}`
  .trim()
  .split(/\n\s*/)
  .map((line) => line.split(' '))

const files = /file\}$/
export const placeholder = /\{(\w+)\}/

/** Each placeholder of each call, without files. */
export const references = calls.flatMap((call) =>
  call.flatMap((word, at) =>
    placeholder.test(word) && !files.test(word) ? [{ call, at, line: call.join(' '), word }] : [],
  ),
)

/** The commands with an action, by their words. */
export const leaves = new Map(
  leavesOf(await buildCommands()).map((command) => [fullCommand(command).slice('svc '.length), command]),
)

/** The longest command that the words begin with. */
export const commandOf = (words: readonly string[]): string =>
  words.map((_, i) => words.slice(0, words.length - i).join(' ')).find((name) => leaves.has(name))!

export const takes = (call: readonly string[], flag: string): boolean =>
  leaves.get(commandOf(call))!.options.some(({ long }) => long === flag)

/** The places of the placeholders of a call. */
export const placesIn = (call: readonly string[]): string[] => {
  const name = commandOf(call)
  const words = call.slice(name.split(' ').length)
  let argument = 0
  return words.flatMap((word, i) => {
    const flag = /^--?\w/.test(words[i - 1] ?? '') ? words[i - 1] : undefined
    if (word.startsWith('-')) return []
    const place = flag ?? `<${leaves.get(name)!.registeredArguments[argument++]?.name()}>`
    return placeholder.test(word) ? [`${name} ${place}`] : []
  })
}
