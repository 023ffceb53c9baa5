import type { RelayAccess } from '../net/smtp.ts'
import type { App } from '../store/work.ts'
import { relayColumns, type StoredRelay } from './mail.claim.ts'
import { relayOfUrl } from './mail.compose.ts'

export interface KnownRelay {
  /** null: the platform's. */
  account: string | null
  host: string
  port: number
  /** With its password opened. Throws Problem `configuration` where the secret is another. */
  access(): RelayAccess
}

/** Every relay that mail may leave by, over all accounts: for who looks whether they answer. */
export const allRelays = async ({ sql, box, config }: Pick<App, 'sql' | 'box' | 'config'>): Promise<KnownRelay[]> => {
  const rows = await sql<StoredRelay & { accountId: string; account: string }>(
    `select r.account_id as "accountId", a.name as account, ${relayColumns} from relays r
     join accounts a on a.id = r.account_id and a.deleted_at is null order by r.account_id`,
  )
  const stored = rows.map(
    ({ accountId, account, host, port, isSecure, username, sealedPassword }): KnownRelay => ({
      account,
      host,
      port,
      access: () => {
        const password = sealedPassword === null ? null : box.open(sealedPassword, accountId)
        return { host, port, isSecure, username, password }
      },
    }),
  )
  if (config.smtpUrl === null) return stored
  const platform = relayOfUrl(config.smtpUrl)
  return [{ account: null, host: platform.host, port: platform.port, access: () => platform }, ...stored]
}
