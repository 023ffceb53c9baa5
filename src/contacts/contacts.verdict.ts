export interface Verdict {
  status: 'valid' | 'risky' | 'invalid' | 'unknown'
  reasons: string[]
}

/** The first class with a reason decides, and all reasons are listed in this order (decisions.md, Contacts). */
const classes = {
  invalid: ['bad_syntax', 'domain_not_found', 'null_mx', 'no_mx', 'hard_bounced'],
  risky: ['disposable', 'role_account', 'typo_domain', 'complained'],
  unknown: ['dns_timeout', 'dns_error'],
} as const

export type Reason = (typeof classes)[keyof typeof classes][number]

/** Reasons that say that DNS gave no answer. */
export const dnsDoubts: readonly string[] = classes.unknown

/** Whether DNS gave no answer for it: a verdict like that replaces none that had one, and is looked at again. */
export const isDoubtful = ({ reasons }: Pick<Verdict, 'reasons'>): boolean =>
  dnsDoubts.some((doubt) => reasons.includes(doubt))

/** The verdict that reasons make, given in any order; none of them: `valid`. */
export const verdictOf = (given: readonly string[]): Verdict => {
  if (given.length === 0) return { status: 'valid', reasons: [] }
  const reasons = Object.values(classes).flatMap((names) => names.filter((name) => given.includes(name)))
  const status = (Object.keys(classes) as (keyof typeof classes)[]).find((name) =>
    classes[name].some((reason) => (reasons as readonly string[]).includes(reason)),
  )
  return { status: status ?? 'valid', reasons }
}
