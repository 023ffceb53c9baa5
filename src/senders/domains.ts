import { generateKeyPair, randomBytes } from 'node:crypto'
import { isIP } from 'node:net'
import { domainToASCII } from 'node:url'
import { promisify } from 'node:util'
import { isEmailSyntax } from '../lib/email.ts'
import { conflict, invalid, noSuch, shown } from '../lib/problem.ts'
import type { RowOf } from '../store/column-types.ts'
import { isDuplicate } from '../store/database.ts'
import { statement } from '../store/statement.ts'
import { columns, types } from '../store/tables.ts'
import type { App, Work } from '../store/work.ts'
import { showRelay } from './relays.ts'
import { domains } from './senders.columns.ts'

type RecordPurpose = 'ownership' | 'dkim' | 'spf' | 'dmarc'

export interface DomainRecord {
  purpose: RecordPurpose
  type: 'TXT'
  name: string
  value: string
  /** Whether the latest DNS check found it. */
  found: boolean
}

export interface DomainView {
  domain: string
  status: 'pending' | 'verified'
  records: DomainRecord[]
}

const recordColumns = columns(domains, ['domain', 'status', 'token', 'publicKey', 'found'])

type Row = RowOf<typeof recordColumns.types>

const dnsMs = 5000

/** The DKIM selector: keys are published at `svc1._domainkey.<domain>`. */
export const dkimSelector = 'svc1'

export const domainContext = (accountId: string, domain: string): string => `${accountId} ${domain}`

const entitiesOf = (work: Work) => work.em(import('./senders.entities.ts'))

/** Returns the SPF mechanism for the host of a URL: `a:` takes names only. */
const mechanismOf = (host: string): string => {
  const address = host.replace(/^\[|\]$/g, '')
  const version = isIP(address)
  return version === 0 ? `a:${host}` : `ip${version}:${address}`
}

/**
 * Returns an SPF record that allows the relay's host and marks other senders as suspicious (`~all`). It is a suggestion: only the
 * domain's owner knows all of its senders.
 */
const spfOf = (relayHost: string | null): string => `v=spf1 mx${relayHost ? ` ${mechanismOf(relayHost)}` : ''} ~all`

const ownershipOf = (token: string): string => `svc-verification=${token}`

const recordsOf = ({ domain, token, publicKey, found }: Row, relayHost: string | null): DomainRecord[] => {
  const record = (purpose: RecordPurpose, name: string, value: string): DomainRecord => ({
    purpose,
    type: 'TXT',
    name,
    value,
    found: found.includes(purpose),
  })
  return [
    record('ownership', `_svc-challenge.${domain}`, ownershipOf(token)),
    record('dkim', `${dkimSelector}._domainkey.${domain}`, `v=DKIM1; k=rsa; p=${publicKey}`),
    record('spf', domain, spfOf(relayHost)),
    record('dmarc', `_dmarc.${domain}`, 'v=DMARC1; p=none'),
  ]
}

const relayHost = (app: Pick<App, 'config'>, work: Work): Promise<string | null> =>
  showRelay(app, work).then(
    ({ url }) => new URL(url).hostname,
    () => null,
  )

const viewOf = async (app: Pick<App, 'config'>, work: Work, row: Row): Promise<DomainView> => ({
  domain: row.domain,
  status: row.status,
  records: recordsOf(row, await relayHost(app, work)),
})

const parseDomain = (text: string): string => {
  const domain = domainToASCII(text.trim().toLowerCase().replace(/\.$/, ''))
  if (!isEmailSyntax(`x@${domain}`)) throw invalid('domain must be a domain such as example.com')
  return domain
}

/**
 * Adds a pending domain with its own DKIM key. Its mail is signed after `verifyDomain` succeeds. Throws Problem `invalid`, or
 * `conflict` if the account has the domain already.
 */
export const addDomain = async (app: App, accountId: string, actor: string, text: string): Promise<DomainView> => {
  const domain = parseDomain(text)
  const pair = await promisify(generateKeyPair)('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'der' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  const publicKey = pair.publicKey.toString('base64')
  const sealedKey = app.box.seal(pair.privateKey, domainContext(accountId, domain))
  const token = randomBytes(16).toString('hex')
  return app.work(accountId, actor, async (work) => {
    const [em, { Domain }] = await entitiesOf(work)
    const key = { token, publicKey, sealedKey }
    const row = em.create(Domain, { accountId, domain, status: 'pending', ...key, found: [], createdAt: work.now })
    await em.flush().catch((error) => {
      if (!isDuplicate(error)) throw error
      throw conflict(`The account already has the domain ${shown(domain)}`, { hint: `svc domains show ${domain}` })
    })
    return viewOf(app, work, row)
  })
}

const domainNotFound = (domain: string) => noSuch('domain', domain, { hint: 'svc domains list' })

const readDomain = statement(
  'read-domain',
  { row: recordColumns.types, parameters: types(domains, 'accountId', 'domain') },
  `select ${recordColumns.list} from domains where account_id = :accountId and domain = :domain`,
)

const readDomains = statement(
  'read-domains',
  { row: recordColumns.types, parameters: { accountId: 'text' } },
  `select ${recordColumns.list} from domains where account_id = :accountId order by domain`,
)

/** Throws Problem `not_found`. */
export const showDomain = async (app: Pick<App, 'config'>, work: Work, text: string): Promise<DomainView> => {
  const domain = parseDomain(text)
  const [row] = await work.sql(readDomain, { accountId: work.accountId, domain })
  if (!row) throw domainNotFound(domain)
  return viewOf(app, work, row)
}

export const listDomains = async (app: Pick<App, 'config'>, work: Work): Promise<DomainView[]> => {
  const rows = await work.sql(readDomains, { accountId: work.accountId })
  const host = await relayHost(app, work)
  return rows.map((row) => ({ domain: row.domain, status: row.status, records: recordsOf(row, host) }))
}

const dkimKey = (text: string): string | null =>
  /(?:^|;)p=([A-Za-z0-9+/=]*)/.exec(text.replace(/\s+/g, ''))?.[1] ?? null

/** Returns whether the TXT values at a record's name contain it. For SPF and DMARC any record of that kind counts. */
const isFound = ({ purpose, value }: DomainRecord, texts: readonly string[]): boolean => {
  if (purpose === 'ownership') return texts.some((text) => text.trim() === value)
  if (purpose === 'dkim') return texts.some((text) => dkimKey(text) === dkimKey(value))
  return texts.some((text) =>
    text
      .trim()
      .toLowerCase()
      .startsWith(purpose === 'spf' ? 'v=spf1' : 'v=dmarc1'),
  )
}

/**
 * Looks the records up in DNS, and verifies the domain if the ownership and DKIM records are found (docs/reference/mail.md#domains).
 * A verified domain becomes pending when its DKIM record is gone; a DNS failure changes nothing. Throws Problem `not_found`.
 */
export const verifyDomain = async (app: App, accountId: string, actor: string, text: string): Promise<DomainView> => {
  const { domain, records } = await app.work(accountId, actor, (work) => showDomain(app, work, text))
  const ownership = records.find(({ purpose }) => purpose === 'ownership')
  const answers = await Promise.all(records.map(({ name }) => app.resolver.texts(name, dnsMs)))
  const found = records.flatMap((record, i) => {
    const texts = answers[i]
    return (texts ? isFound(record, texts) : record.found) ? record.purpose : []
  })
  return app.work(accountId, actor, async (work) => {
    const [[em, { Domain }], { LockMode }] = await Promise.all([entitiesOf(work), import('@mikro-orm/postgresql')])
    const row = await em.findOne(Domain, { domain }, { lockMode: LockMode.PESSIMISTIC_WRITE })
    // A domain that was deleted and added again has other records.
    if (!row || ownershipOf(row.token) !== ownership?.value) throw domainNotFound(domain)
    const isOwned = row.status === 'verified' || found.includes('ownership')
    row.status = found.includes('dkim') && isOwned ? 'verified' : 'pending'
    row.found = found
    row.checkedAt = work.now
    await em.flush()
    return viewOf(app, work, row)
  })
}

/**
 * Deletes a domain with its DKIM key, and returns its name. Queued messages from it are sent unsigned, as those of a domain that lost
 * its verification. If it is added again, it has another key. Throws Problem `not_found`.
 */
export const deleteDomain = async (work: Work, text: string): Promise<string> => {
  const domain = parseDomain(text)
  const [em, { Domain }] = await entitiesOf(work)
  if ((await em.nativeDelete(Domain, { domain })) === 0) throw domainNotFound(domain)
  return domain
}
