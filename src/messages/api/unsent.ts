import { shellWord } from '../../lib/shell.ts'
import type { Work } from '../../store/work.ts'

interface Unsent {
  why: string
  next: string
}

/** Returns a sentence why an email to an address was suppressed, and the command that shows or removes the reason. */
export const explainUnsent = async ({ sql, accountId }: Work, email: string, reason: string): Promise<Unsent> => {
  if (reason === 'pending')
    return {
      why: 'the contact is not active in any list, and only active contacts get marketing',
      next: `svc contacts show ${shellWord(email)}`,
    }
  if (reason !== 'invalid')
    return { why: `the address is suppressed (${reason})`, next: `svc suppressions remove ${shellWord(email)}` }
  const [row] = await sql<{ reasons: string[] | null }>(
    'select verification_reasons as reasons from addresses where account_id = $1 and email = $2',
    [accountId, email],
  )
  return {
    why: `the address failed verification (${(row?.reasons ?? []).join(', ')})`,
    next: `svc contacts verify ${shellWord(email)}`,
  }
}
