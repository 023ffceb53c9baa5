import { midnightOf } from '../../lib/days.ts'
import { Problem } from '../../lib/problem.ts'
import type { Fields } from '../contacts.fields.ts'

/*
 * Exports of other products (`--from`). A product is a table: which header means what. Headers without a rule are columns like those of
 * any other file.
 */

/** Why a person gets no email any more: the reasons of suppressions. */
export type OptOutReason = 'complained' | 'bounced' | 'manual' | 'unsubscribed'

/** What a row of an export says about a person. */
export interface Reading {
  /** Returns the fields as the file has them: not checked yet. Throws Problem `invalid` if a value can't be read. */
  fields(): Fields
  /** The person has not agreed to marketing yet. */
  isPending: boolean
  /**
   * Why the person gets no email any more, each reason once. `at` says since when, in epoch ms; it is null if the file does not
   * say.
   */
  optOuts: { reason: OptOutReason; at: number | null }[]
  /** Kinds of email that the person has left, by name. */
  leftTopics: readonly string[]
}

export const vendorNames = ['mailchimp', 'hubspot', 'brevo', 'listmonk', 'resend', 'plunk'] as const
export type VendorName = (typeof vendorNames)[number]

/** Throws Problem `usage`. */
export const parseVendor = (text: string): VendorName => {
  const name = vendorNames.find((known) => known === text)
  if (!name) throw new Problem('usage', `--from must be one of ${vendorNames.join(', ')}`)
  return name
}

/** The meaning of a column. A column can have several. */
interface Rule {
  header: RegExp
  /** It is also a field of its own. */
  isField?: boolean
  /** Values that say that the person has opted out. */
  optOut?: readonly { reason: OptOutReason; when: RegExp }[]
  /** Since when the person gets no email any more. */
  isOptOutTime?: boolean
  /** Values that say that the person has not agreed yet. */
  pending?: RegExp
  /** Values that say that the person has agreed, and how. */
  consent?: { when: RegExp; source: string }
  /** Its text says how the person agreed. */
  isConsentSource?: boolean
  /**
   * When the person agreed. The first column with a value counts. `if-agreed` counts only if another column says that they did.
   */
  consentTime?: 'agreed' | 'if-agreed'
  /** Its first group is a kind of email. A person with the value yes has left it. */
  isTopic?: boolean
  /** Becomes the field `tags`. */
  isTags?: boolean
  /** A JSON object, whose properties become fields. */
  isJson?: boolean
}

/** What the name of a file says about all of its rows. */
export type Part = 'subscribed' | OptOutReason | 'pending'

interface Vendor {
  /** How the source of a consent is called if the file says only when it was. */
  title: string
  rules: readonly Rule[]
  /** The parts of a product that writes a file for each state. */
  parts?: readonly { name: RegExp; part: Part }[]
  /** Headers of which a file has at least one; otherwise it does not say who has opted out. */
  mark: RegExp
  /** A column of `mark`, for people. */
  wanted: string
  /** How to get a file that says it, if the product's own export does not. */
  howTo?: string
  /** A file with this column has one for each kind of email: all columns without a rule. */
  topicsBeside?: RegExp
  /** The names of this product's columns, beside `commonNames`. */
  names?: readonly Naming[]
}

/** Our name of a field, and how products call it. */
type Naming = readonly [name: string, theirs: RegExp]

const commonNames: readonly Naming[] = [
  ['first_name', /^(first[ _-]?name|fname|prenom)$/i],
  ['last_name', /^(last[ _-]?name|lname|nom)$/i],
  ['name', /^(full[ _-]?)?name$/i],
  ['phone', /^phone([ _-]?number)?$/i],
  ['company', /^company([ _-]?name)?$/i],
  ['city', /^city$/i],
  ['country', /^country(\/region)?$/i],
]

const yes = /^(true|yes|y|1|x)$/i
const no = /^(false|no|n|0)$/i
/** Any text but a denial. */
const something = /^(?!(false|no|n|0)$)./i

/** Rules for columns without one of their own: all but the address are kinds of email. */
const topicRules: readonly Rule[] = [
  { header: /^e-?mail([ _-]?address)?$/i, isField: true },
  { header: /^(.+)$/, isTopic: true },
]

const nothing = (header: RegExp): Rule => ({ header })

// Mailchimp: export of an audience, a zip with a CSV for each state (`unsubscribed_email_audience_export_1a2b3c.csv`; segments and older
// exports: `unsubscribed_segment_export_…`, `unsubscribed_members_export_…`).
const mailchimp: Vendor = {
  title: 'Mailchimp',
  rules: [
    { header: /^tags$/i, isTags: true },
    { header: /^confirm_time$/i, consentTime: 'agreed' },
    { header: /^optin_time$/i, consentTime: 'agreed' },
    { header: /^source$/i, isConsentSource: true },
    { header: /^unsub_time$/i, optOut: [{ reason: 'unsubscribed', when: /./ }], isOptOutTime: true },
    { header: /^clean_time$/i, optOut: [{ reason: 'bounced', when: /./ }], isOptOutTime: true },
    {
      header: /^((email )?marketing |subscription |contact )?status$/i,
      optOut: [
        { reason: 'unsubscribed', when: /^unsubscribed$/i },
        { reason: 'bounced', when: /^(cleaned|bounced)$/i },
      ],
      pending: /^(non-?subscribed|pending|transactional)$/i,
    },
    {
      header: /^unsub_(campaign_title|campaign_id|reason|reason_other)$/i,
      optOut: [{ reason: 'unsubscribed', when: something }],
    },
    { header: /^clean_campaign_(title|id)$/i, optOut: [{ reason: 'bounced', when: something }] },
    nothing(/^(leid|euid|gmtoff|dstoff|latitude|longitude|last_changed)$/i),
  ],
  parts: [
    { name: /(^|[^a-z])unsubscribed_/i, part: 'unsubscribed' },
    { name: /(^|[^a-z])nonsubscribed_/i, part: 'pending' },
    { name: /(^|[^a-z])cleaned_/i, part: 'bounced' },
    { name: /(^|[^a-z])subscribed_/i, part: 'subscribed' },
  ],
  mark: /^(unsub_time|clean_time|((email )?marketing |subscription |contact )?status)$/i,
  wanted: 'UNSUB_TIME',
  howTo: "keep the names of the archive's files, such as subscribed_email_audience_export_1a2b3c.csv",
}

// HubSpot: export of contacts, by the labels or the internal names of their properties; and the export of unsubscribes and bounces
// (`Portal …`, `Global Bounce`), whose other columns are kinds of email: TRUE means that the person has left it.
const hubspot: Vendor = {
  title: 'HubSpot',
  rules: [
    { header: /^(unsubscribed from all email|hs_email_optout)$/i, optOut: [{ reason: 'unsubscribed', when: yes }] },
    { header: /^portal unsubscribe$/i, optOut: [{ reason: 'unsubscribed', when: something }] },
    {
      header: /^(email hard bounce reason( enum)?|hs_email_hard_?bounce_reason(_enum)?|portal bounce|global bounce)$/i,
      optOut: [{ reason: 'bounced', when: something }],
    },
    { header: /^(invalid email address|hs_email_bad_address)$/i, optOut: [{ reason: 'bounced', when: yes }] },
    { header: /^portal spam report$/i, optOut: [{ reason: 'complained', when: something }] },
    { header: /^(unsubscribe(d)? (date|time)|hs_email_optout_date)$/i, isOptOutTime: true },
    {
      header: /^(marketing contact status|hs_marketable_status)$/i,
      isField: true,
      pending: /^(non-?marketing( contact)?|false)$/i,
    },
    { header: /^(marketing email confirmation( status)?|hs_emailconfirmationstatus)$/i, pending: /pending/i },
    { header: /^(legal basis for processing contact['’]?s data|hs_legal_basis)$/i, isConsentSource: true },
    { header: /^(consent (date|time)|opt-?in (date|time))$/i, consentTime: 'if-agreed' },
    { header: /^(contact )?tags$/i, isTags: true },
    { header: /^opted out of email: (.+)$/i, isTopic: true },
    // By internal names: the number of the kind, whose name the file does not have.
    { header: /^(hs_email_optout_\d+)$/i, isTopic: true },
    nothing(/^(record id( - contact)?|hs_object_id|contact id)$/i),
  ],
  topicsBeside: /^portal unsubscribe$/i,
  mark: /^(unsubscribed from all email|hs_email_optout|portal unsubscribe)$/i,
  wanted: 'Unsubscribed from all email',
}

// Brevo: export of contacts, with `EMAIL_BLACKLISTED` (`BLACKLIST` and `EMAIL_BLACKLIST` in files of Sendinblue).
const brevo: Vendor = {
  title: 'Brevo',
  rules: [
    {
      header: /^(email_?)?bl(ack|ock)list(ed)?$/i,
      optOut: [{ reason: 'unsubscribed', when: yes }],
    },
    {
      header: /^(email_?marketing|email_subscription|subscription)(_status)?$/i,
      optOut: [{ reason: 'unsubscribed', when: /^(un-?subscribed|bl(ack|ock)listed|opted-?out)$/i }],
    },
    { header: /^(email_)?hard_?bounced?s?$/i, optOut: [{ reason: 'bounced', when: yes }] },
    { header: /^(unsubscribed|bl(ack|ock)listed)_(at|time|date)$/i, isOptOutTime: true },
    { header: /^modified_time$/i, isOptOutTime: true },
    { header: /^double_opt-?_?in$/i, consent: { when: yes, source: 'double opt-in' }, isField: true },
    { header: /^opt_?in$/i, consent: { when: yes, source: 'opt-in' }, isField: true },
    { header: /^(opt_?in|doi|consent)_?(time|date|at)$/i, consentTime: 'if-agreed' },
    { header: /^added_time$/i, consentTime: 'if-agreed', isField: true },
    { header: /^tags$/i, isTags: true },
    nothing(/^(contact[ _]id|_?listids)$/i),
  ],
  mark: /^((email_?)?bl(ack|ock)list(ed)?|(email_?marketing|email_subscription|subscription)(_status)?)$/i,
  wanted: 'EMAIL_BLACKLISTED',
  names: [['phone', /^sms$/i]],
}

// listmonk: `subscribers.csv` (uuid, email, name, attributes, status, created_at, updated_at) has the status of the subscriber (enabled,
// disabled, blocklisted), not those of its subscriptions: who has left a list is enabled. Queries can have both.
const listmonk: Vendor = {
  title: 'listmonk',
  rules: [
    {
      header: /^status$/i,
      optOut: [{ reason: 'manual', when: /^bl(ock|ack)listed$/i }],
      pending: /^disabled$/i,
    },
    {
      header: /^subscription_status$/i,
      optOut: [{ reason: 'unsubscribed', when: /^unsubscribed$/i }],
      pending: /^unconfirmed$/i,
      consent: { when: /^confirmed$/i, source: 'listmonk' },
    },
    { header: /^subscription_updated_at$/i, isOptOutTime: true },
    { header: /^updated_at$/i, isOptOutTime: true },
    { header: /^subscription_created_at$/i, consentTime: 'if-agreed' },
    { header: /^created_at$/i, consentTime: 'if-agreed', isField: true },
    { header: /^(attributes|attribs)$/i, isJson: true },
    { header: /^tags$/i, isTags: true },
    nothing(/^(uuid|id)$/i),
  ],
  mark: /^subscription_status$/i,
  wanted: 'subscription_status',
  howTo: `query its database: psql -c "copy (select s.email, s.name, s.attribs, s.status, l.status as subscription_status, l.created_at as subscription_created_at, l.updated_at as subscription_updated_at from subscribers s join subscriber_lists l on l.subscriber_id = s.id where l.list_id = <list>) to stdout csv header" > people.csv`,
}

// Resend: export of contacts, with `unsubscribed`.
const resend: Vendor = {
  title: 'Resend',
  rules: [
    { header: /^unsubscribed$/i, optOut: [{ reason: 'unsubscribed', when: yes }] },
    { header: /^unsubscribed_at$/i, isOptOutTime: true },
    { header: /^properties$/i, isJson: true },
    { header: /^tags$/i, isTags: true },
    nothing(/^id$/i),
  ],
  mark: /^unsubscribed$/i,
  wanted: 'unsubscribed',
}

// Plunk: contacts as its API and dashboard have them, with `subscribed` and the JSON object `data`.
const plunk: Vendor = {
  title: 'Plunk',
  rules: [
    { header: /^subscribed$/i, optOut: [{ reason: 'unsubscribed', when: no }] },
    { header: /^updated_?at$/i, isOptOutTime: true },
    { header: /^data$/i, isJson: true },
    { header: /^tags$/i, isTags: true },
    nothing(/^(id|project_?id)$/i),
  ],
  mark: /^subscribed$/i,
  wanted: 'subscribed',
}

const vendors: Readonly<Record<VendorName, Vendor>> = { mailchimp, hubspot, brevo, listmonk, resend, plunk }

/** Returns what the name of a file says about its rows, or null if it says nothing. */
export const partOf = (vendor: VendorName, file: string): Part | null =>
  vendors[vendor].parts?.find(({ name }) => name.test(file.split(/[/\\]/).at(-1)!))?.part ?? null

const earliest = Date.UTC(1990, 0)

/** Returns a time that a product wrote in epoch ms, or null if the text is no time. A time without a zone is in UTC. */
const timeOf = (text: string): number | null => {
  const trimmed = text.trim()
  if (trimmed === '') return null
  const epoch = /^\d{13}$/.test(trimmed) ? Number(trimmed) : /^\d{10}$/.test(trimmed) ? Number(trimmed) * 1000 : null
  const iso =
    /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?)?\s*(Z|UTC|[+-]\d\d(?::?\d\d)?)?(?: (?:[A-Z]{2,5}|[+-]\d{4}))?$/i.exec(
      trimmed,
    )
  // Brevo writes the day first.
  const european = /^(\d\d)-(\d\d)-(\d{4})(?:[T ](\d\d):(\d\d)(?::(\d\d))?)?$/.exec(trimmed)
  const [year, month, day, hour = '00', minute = '00', second = '00', zone = 'Z'] = iso
    ? iso.slice(1)
    : european
      ? [european[3], european[2], european[1], ...european.slice(4)]
      : []
  // PostgreSQL leaves out minutes that are 0.
  const offset = /^[+-]/.test(zone) ? `${zone.slice(0, 3)}:${zone.slice(3).replace(':', '') || '00'}` : 'Z'
  const date = `${year}-${month}-${day}`
  if (epoch === null && midnightOf(date) === null) return null
  const time = epoch ?? Date.parse(`${date}T${hour}:${minute}:${second}${offset}`)
  return time >= earliest ? time : null
}

/** Returns tags as one text: `vip, early bird`. Mailchimp quotes each of them. */
const tagsOf = (text: string): string =>
  (text.match(/"(?:[^"]|"")*"|[^,;]+/g) ?? [])
    .map((tag) =>
      tag
        .trim()
        .replace(/^"(.*)"$/s, '$1')
        .replaceAll('""', '"')
        .trim(),
    )
    .filter(Boolean)
    .join(', ')

/** Returns a value of a JSON object as the text of a field; several values are separated like tags. */
const textOf = (value: unknown): string => {
  if (value === null || value === undefined) return ''
  if (Array.isArray(value) && value.every((one) => typeof one !== 'object')) return value.join(', ')
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

const jsonFields = (text: string, header: string): Fields => {
  if (text.trim() === '') return {}
  const refuse = () => new Problem('invalid', `${header} is not a JSON object`)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw refuse()
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw refuse()
  const named = Object.entries(value).map(([name, one]) => [name.trim(), textOf(one)] as const)
  // The address has a column of its own; names that are empty or `__proto__` are not allowed.
  return Object.fromEntries(
    named.filter(([name]) => name !== '' && name.toLowerCase() !== 'email' && name !== '__proto__'),
  )
}

const consentFields = { source: 'consent_source', at: 'consent_at' } as const

const consentOf = (source: string, agreedAt: string): Fields => {
  if (source === '') return {}
  const time = timeOf(agreedAt)
  const at = time === null ? agreedAt : `${new Date(time).toISOString().slice(0, 19)}Z`
  return { [consentFields.source]: source, ...(at !== '' && { [consentFields.at]: at }) }
}

const plainFields = (values: readonly string[], names: readonly (string | null)[]): Fields => {
  const fields: Fields = {}
  for (const [i, name] of names.entries()) if (name !== null && i < values.length) fields[name] = values[i]!
  return fields
}

/** How an export is read. */
interface VendorTable {
  /** The field of each column. It is null if it has none of its own. */
  fieldOf(header: string): string | null
  /** Fields that no single column has. */
  further: readonly string[]
  /** `fields` has the field of each column, after `--map`. */
  read(values: readonly string[], fields: readonly (string | null)[]): Reading
}

/** How a person wants an export to be read. */
export interface VendorOptions {
  /** Everybody whom the file does not name as opted out gets email. */
  assumeSubscribed?: boolean | undefined
  /** Fields keep the product's names. */
  keepNames?: boolean | undefined
}

/** Returns our name of a field of a product; the given one if it has none. */
const ownName = ({ names = [] }: Vendor, theirs: string): string =>
  [...names, ...commonNames].find(([, pattern]) => pattern.test(theirs.trim()))?.[0] ?? theirs

/** Returns the names by our own ones, where two fields would not become one. The first of several keeps our name. */
const renamed = (vendor: Vendor, theirs: readonly string[], taken: ReadonlySet<string>): Map<string, string> => {
  const used = new Set([...taken, ...theirs.filter((name) => ownName(vendor, name) === name)])
  return new Map(
    theirs.map((name) => {
      const own = ownName(vendor, name)
      if (own === name || used.has(own)) return [name, name]
      used.add(own)
      return [name, own]
    }),
  )
}

/**
 * Returns how the export is read. Columns that the person has mapped are plain columns. Throws Problem `usage` if the file does not say
 * who has opted out.
 */
export const openVendor = (
  name: VendorName,
  part: Part | null,
  headers: readonly string[],
  map: ReadonlyMap<string, string>,
  { assumeSubscribed = false, keepNames = false }: VendorOptions = {},
): VendorTable => {
  const vendor = vendors[name]
  const { rules, mark, title, topicsBeside, wanted, howTo } = vendor
  const known = topicsBeside && headers.some((header) => topicsBeside.test(header)) ? [...rules, ...topicRules] : rules
  if (part === null && !assumeSubscribed && !headers.some((header) => mark.test(header)))
    throw new Problem('usage', `No column of ${title} says who has opted out, such as ${wanted}`, {
      hint: `${howTo ?? 'export that column too'}; or add --assume-subscribed if all of these people get email`,
    })
  const ruleOf = (header: string): Rule | undefined =>
    map.has(header) ? undefined : known.find((rule) => rule.header.test(header))
  const ruled = headers.flatMap((header, at) => {
    const rule = ruleOf(header)
    return rule ? [{ ...rule, text: header, at }] : []
  })
  // In the order of the rules: the first of several columns for the same meaning counts.
  ruled.sort(
    (a, b) => known.findIndex((rule) => rule.header === a.header) - known.findIndex((r) => r.header === b.header),
  )
  const isPlain = (header: string) => {
    const rule = ruleOf(header)
    return !map.has(header) && (!rule || rule.isField === true)
  }
  const reserved = new Set(['email', ...map.values()])
  const plain = headers.filter(isPlain)
  const names = keepNames ? new Map<string, string>() : renamed(vendor, plain, reserved)
  const targets = new Set([...reserved, ...plain.map((header) => names.get(header) ?? header)])
  const consents = ruled.some(({ consent, isConsentSource, consentTime }) => consent || isConsentSource || consentTime)
  const hasTime = ruled.some(({ consentTime }) => consentTime)

  const read = (values: readonly string[], fieldNames: readonly (string | null)[]): Reading => {
    const reasons = new Set<OptOutReason>()
    if (part !== null && part !== 'pending' && part !== 'subscribed') reasons.add(part)
    let isPending = part === 'pending'
    let since = ''
    let source = ''
    let agreed = ''
    let agreedIf = ''
    const leftTopics: string[] = []
    for (const rule of ruled) {
      const value = (values[rule.at] ?? '').trim()
      if (value === '') continue
      for (const { reason, when } of rule.optOut ?? []) if (when.test(value)) reasons.add(reason)
      if (rule.pending?.test(value)) isPending = true
      if (rule.isTopic && yes.test(value)) leftTopics.push(rule.header.exec(rule.text)![1]!.trim())
      if (rule.isOptOutTime) since ||= value
      if (rule.consent?.when.test(value)) source ||= rule.consent.source
      if (rule.isConsentSource) source ||= value
      if (rule.consentTime === 'agreed') agreed ||= value
      if (rule.consentTime === 'if-agreed') agreedIf ||= value
    }
    if (reasons.size > 0) {
      const at = timeOf(since)
      return { fields: () => ({}), isPending, optOuts: [...reasons].map((reason) => ({ reason, at })), leftTopics }
    }
    if (agreed !== '') source ||= title
    const consent = consentOf(source, agreed || (source && agreedIf))
    const fields = () => ({ ...plainFields(values, fieldNames), ...furtherFields(values), ...consent })
    return { fields, isPending, optOuts: [], leftTopics }
  }
  const ownFields = (fields: Fields): Fields => {
    if (keepNames) return fields
    const own = renamed(vendor, Object.keys(fields), targets)
    return Object.fromEntries(Object.entries(fields).map(([field, value]) => [own.get(field)!, value]))
  }
  /** Returns tags, and the properties of JSON columns. */
  const furtherFields = (values: readonly string[]): Fields => {
    const fields: Fields = {}
    for (const { isTags, isJson, at, text } of ruled) {
      if (isJson) Object.assign(fields, ownFields(jsonFields(values[at] ?? '', text)))
      if (isTags) fields.tags = tagsOf(values[at] ?? '')
    }
    return fields
  }

  return {
    fieldOf: (header) => {
      const rule = ruleOf(header)
      return !rule || rule.isField ? (names.get(header) ?? header) : rule.isTags ? 'tags' : null
    },
    further: [...(consents ? [consentFields.source] : []), ...(hasTime ? [consentFields.at] : [])],
    read,
  }
}
