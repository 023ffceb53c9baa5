import { generateKeyPair, randomBytes } from 'node:crypto'
import { domainToASCII } from 'node:url'
import { promisify } from 'node:util'
import { isEmailSyntax } from '../lib/email.ts'
import { conflict, invalid, missing } from '../lib/problem.ts'
import type { App, Work } from '../store/work.ts'
import { dkimSelector, domainContext } from './mail.compose.ts'
import { showRelay } from './relays.ts'

export type RecordPurpose = 'ownership' | 'dkim' | 'spf' | 'dmarc'

export interface DomainRecord {
  purpose: RecordPurpose
  type: 'TXT'
  name: string
  value: string
  /** Whether the last look at DNS found it. */
  found: boolean
}

export interface DomainView {
  domain: string
  status: 'pending' | 'verified'
  records: DomainRecord[]
}

interface DomainRow {
  domain: string
  status: DomainView['status']
  token: string
  publicKey: string
  found: RecordPurpose[]
}

const columns = 'domain, status, token, public_key as "publicKey", found'
const dnsMs = 5000

/** Mail of the relay's host passes, and other mail is suspect: advice, as only the owner knows who else sends. */
const spfOf = (relayHost: string | null): string => `v=spf1 mx${relayHost ? ` a:${relayHost}` : ''} ~all`

const recordsOf = ({ domain, token, publicKey, found }: DomainRow, relayHost: string | null): DomainRecord[] => {
  const record = (purpose: RecordPurpose, name: string, value: string): DomainRecord => ({
    purpose,
    type: 'TXT',
    name,
    value,
    found: found.includes(purpose),
  })
  return [
    record('ownership', `_svc-challenge.${domain}`, `svc-verification=${token}`),
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

const viewOf = async (app: Pick<App, 'config'>, work: Work, row: DomainRow): Promise<DomainView> => ({
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
 * Adds a domain to send from, with a key of its own to sign its mail by, once DNS says that it is the account's. Throws Problem
 * `invalid`, or `conflict` where it is there already.
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
  return app.work(accountId, actor, async (work) => {
    const [row] = await work.sql<DomainRow>(
      `insert into domains (account_id, domain, status, token, public_key, sealed_key, found, created_at)
       values ($1, $2, 'pending', $3, $4, $5, '{}', $6) on conflict do nothing returning ${columns}`,
      [accountId, domain, randomBytes(16).toString('hex'), publicKey, sealedKey, work.now],
    )
    if (!row) throw conflict(`${domain} is a domain of the account already`, { hint: `svc domains show ${domain}` })
    return viewOf(app, work, row)
  })
}

const readDomain = async ({ sql, accountId }: Work, text: string): Promise<DomainRow> => {
  const domain = parseDomain(text)
  const [row] = await sql<DomainRow>(`select ${columns} from domains where account_id = $1 and domain = $2`, [
    accountId,
    domain,
  ])
  if (!row) throw missing(`There is no domain ${domain}`, { hint: 'svc domains list' })
  return row
}

/** Throws Problem `missing`. */
export const showDomain = async (app: Pick<App, 'config'>, work: Work, domain: string): Promise<DomainView> =>
  viewOf(app, work, await readDomain(work, domain))

export const listDomains = async (app: Pick<App, 'config'>, work: Work): Promise<DomainView[]> => {
  const rows = await work.sql<DomainRow>(`select ${columns} from domains where account_id = $1 order by domain`, [
    work.accountId,
  ])
  const host = await relayHost(app, work)
  return rows.map((row) => ({ domain: row.domain, status: row.status, records: recordsOf(row, host) }))
}

const dkimKey = (text: string): string | null =>
  /(?:^|;)p=([A-Za-z0-9+/=]*)/.exec(text.replace(/\s+/g, ''))?.[1] ?? null

/** Whether one of the texts at a record's name is it; of advice, whether there is any. */
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
 * Looks the records up, and verifies the domain where ownership and DKIM are found (decisions.md, Domains). A verified one
 * stays so until its DKIM record is missed; no answer from DNS is no miss. Throws Problem `missing`.
 */
export const verifyDomain = async (app: App, accountId: string, actor: string, text: string): Promise<DomainView> => {
  const { domain, records } = await app.work(accountId, actor, (work) => showDomain(app, work, text))
  const answers = await Promise.all(records.map(({ name }) => app.resolver.texts(name, dnsMs)))
  const found = records.flatMap((record, i) => {
    const texts = answers[i]
    return (texts ? isFound(record, texts) : record.found) ? record.purpose : []
  })
  return app.work(accountId, actor, async (work) => {
    const [row] = await work.sql<DomainRow>(
      `update domains set found = $3, checked_at = $4,
         status = case when 'dkim' = any($3) and (status = 'verified' or 'ownership' = any($3)) then 'verified' else 'pending' end
       where account_id = $1 and domain = $2 returning ${columns}`,
      [accountId, domain, found, work.now],
    )
    if (!row) throw missing(`There is no domain ${domain}`)
    return viewOf(app, work, row)
  })
}
