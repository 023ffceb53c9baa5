import { activeAccounts } from '../accounts/accounts.rows.ts'
import type { RelayAccess } from '../net/smtp.ts'
import { statement } from '../store/statement.ts'
import type { App } from '../store/work.ts'
import { accessOf, relayOfUrl } from './relays.access.ts'
import { relayColumns } from './relays.rows.ts'

export interface KnownRelay {
  /** It is null for the relay of the platform. */
  account: string | null
  host: string
  port: number
  /** Returns the relay with its password opened. Throws Problem `configuration` if it was sealed with another secret. */
  access(): RelayAccess
}

const readRelays = statement(
  'read-relays',
  {
    row: { accountId: 'text', account: 'text', ...relayColumns.types },
  },
  `select r.account_id as "accountId", a.name as account, ${relayColumns.list} from relays r
   join ${activeAccounts} a on a.id = r.account_id order by r.account_id`,
)

/** Returns the relays of all accounts and of the platform, for `svc doctor`. */
export const allRelays = async ({ sql, box, config }: Pick<App, 'sql' | 'box' | 'config'>): Promise<KnownRelay[]> => {
  const rows = await sql(readRelays)
  const stored = rows.map(({ accountId, account, ...relay }): KnownRelay => {
    const access = () => accessOf(relay, (sealed) => box.open(sealed, accountId))
    return { account, host: relay.host, port: relay.port, access }
  })
  if (config.smtpUrl === null) return stored
  const platform = relayOfUrl(config.smtpUrl)
  return [{ account: null, host: platform.host, port: platform.port, access: () => platform }, ...stored]
}
