/** Mail providers whose misspellings are common. Short names (aol.com, live.com) are too similar to real domains. */
const providers = [
  'gmail.com',
  'googlemail.com',
  'hotmail.com',
  'hotmail.co.uk',
  'hotmail.fr',
  'outlook.com',
  'yahoo.com',
  'yahoo.co.uk',
  'yahoo.fr',
  'icloud.com',
  'protonmail.com',
  'comcast.net',
  'verizon.net',
  'sbcglobal.net',
  'bellsouth.net',
  'btinternet.com',
  't-online.de',
  'wanadoo.fr',
  'laposte.net',
]

/** Real mail domains that differ from a provider's by one slip. */
const genuine = new Set(['cloud.com', 'email.com', 'mail.com', 'ymail.com'])

/** Returns whether `a` differs from `b` by one wrong, missing or extra letter, or by two swapped neighbours. */
const isOneSlip = (a: string, b: string): boolean => {
  let start = 0
  while (start < a.length && a[start] === b[start]) start++
  const restA = a.slice(start)
  const restB = b.slice(start)
  if (a.length > b.length) return restA.slice(1) === restB
  if (a.length < b.length) return restA === restB.slice(1)
  const isSwap = restA[0] === restB[1] && restA[1] === restB[0] && restA.slice(2) === restB.slice(2)
  return a !== b && (restA.slice(1) === restB.slice(1) || isSwap)
}

/** Returns whether two names differ only in their country code. That is no slip: providers use the same name in many countries. */
const differInCountry = (a: string, b: string): boolean =>
  /\.[a-z]{2}$/.test(a) && /\.[a-z]{2}$/.test(b) && a.slice(0, -2) === b.slice(0, -2)

/** Returns whether a domain looks like a misspelt domain of a large mail provider: `gmial.com`, `hotmail.con`. */
export const isTypoDomain = (domain: string): boolean =>
  !providers.includes(domain) &&
  !genuine.has(domain) &&
  providers.some((provider) => isOneSlip(domain, provider) && !differInCountry(domain, provider))
