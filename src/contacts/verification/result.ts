export interface VerificationResult {
  status: 'valid' | 'risky' | 'invalid' | 'unknown'
  reasons: string[]
}

/** The first class with a matching reason decides the status. Results list all reasons in this order (docs/reference/rules.md#verification). */
const classes = {
  invalid: ['bad_syntax', 'domain_not_found', 'null_mx', 'no_mx', 'hard_bounced'],
  risky: ['disposable', 'role_account', 'typo_domain', 'complained'],
  unknown: ['dns_timeout', 'dns_error'],
} as const

export type Reason = (typeof classes)[keyof typeof classes][number]

/** Reasons that mean that DNS gave no answer. */
export const inconclusiveReasons: readonly string[] = classes.unknown

/** Returns whether DNS gave no answer. Such a result never replaces a conclusive one, and the address is checked again. */
export const isInconclusive = ({ reasons }: Pick<VerificationResult, 'reasons'>): boolean =>
  inconclusiveReasons.some((doubt) => reasons.includes(doubt))

/** Returns the result for reasons in any order; without reasons it is `valid`. */
export const resultOf = (given: readonly string[]): VerificationResult => {
  if (given.length === 0) return { status: 'valid', reasons: [] }
  const reasons = Object.values(classes).flatMap((names) => names.filter((name) => given.includes(name)))
  const status = (Object.keys(classes) as (keyof typeof classes)[]).find((name) =>
    classes[name].some((reason) => (reasons as readonly string[]).includes(reason)),
  )
  return { status: status ?? 'valid', reasons }
}
