import type { App } from '../store/work.ts'

export interface Verdict {
  status: 'valid' | 'risky' | 'invalid' | 'unknown'
  reasons: string[]
}

/** Judges normalised addresses. Asks DNS, so it stands before the transaction. */
export declare const verifyAddresses: (
  app: Pick<App, 'sql' | 'resolver' | 'now'>,
  emails: readonly string[],
) => Promise<Map<string, Verdict>>
/** Re-checks `unknown` addresses of up to `limit` domains; gives how many got another verdict. */
export declare const recheckDomains: (app: Pick<App, 'sql' | 'resolver' | 'now'>, limit: number) => Promise<number>
