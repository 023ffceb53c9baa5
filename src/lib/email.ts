import { domainToASCII, domainToUnicode } from 'node:url'
import isEmail from 'validator/lib/isEmail.js'
import { isLonger } from './strings.ts'

/** Longer addresses are refused. Shorter ones are stored and verified (docs/reference/rules.md#email-addresses). */
export const emailMaxLength = 320

/** Control characters (including line ends in a quoted local part) and invisible marks. An SMTP envelope can't contain them. */
const hidden = /[\p{Cc}\u00ad\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/u

const internationalised = /[^\0-\x7f]|xn--/

/** Spells the domain in Unicode: `xn--bcher-kva` becomes `bücher`. */
const withUnicodeDomain = (email: string): string => {
  const at = email.lastIndexOf('@') + 1
  const domain = email.slice(at)
  const known = internationalised.test(domain) && domainToUnicode(domainToASCII(domain))
  return known ? email.slice(0, at) + known : email
}

/**
 * Returns the form in which addresses are stored and compared: trimmed, lower case, NFC. A text that is too long for an address
 * is only trimmed: it matches no address, and NFC takes quadratic time (512 KB of combining marks: 37 s).
 */
export const normalizeEmail = (text: string): string => {
  const trimmed = text.trim()
  return isLonger(trimmed, emailMaxLength) ? trimmed : withUnicodeDomain(trimmed.toLowerCase().normalize('NFC'))
}

/**
 * Spellings by which a quoted local part names the same mailbox as another address, and so would bypass its suppression:
 * brackets, backslashes and repeated blanks, which mail programs drop, and unnecessary quotes.
 */
const disguised = /[<>\\]|\s\s|^"[^\s"(),.:;@[\]]+(?:\.[^\s"(),.:;@[\]]+)*"$/

/** Whether the text is a valid address. Internationalised names are; bare hosts and IP literals are not. */
export const isEmailSyntax = (email: string): boolean =>
  email.length <= emailMaxLength &&
  !hidden.test(email) &&
  !disguised.test(email.slice(0, email.lastIndexOf('@'))) &&
  isEmail.default(email)

/** Returns an address for readers who must not learn it: the first character, and the domain. */
export const maskedEmail = (email: string): string => {
  const at = email.lastIndexOf('@')
  const [first = ''] = email.slice(0, at)
  return `${at > first.length ? first : ''}***${email.slice(at)}`
}

/** Returns the domain in ASCII, as DNS and domain lists spell it, or null if the address has none. */
export const emailDomain = (email: string): string | null => {
  const at = email.lastIndexOf('@')
  return at < 0 ? null : domainToASCII(email.slice(at + 1)) || null
}

/** Returns the address with its domain in ASCII, which every relay accepts in an envelope. */
export const asciiAddress = (email: string): string => `${email.slice(0, email.lastIndexOf('@'))}@${emailDomain(email)}`

/** Returns whether a cell of a file has several addresses. It does not say which of them the person uses. */
export const hasTwoAddresses = (cell: string): boolean =>
  // Most cells have one @: looking for a second one is cheaper than splitting each cell of a large file.
  cell.indexOf('@') !== cell.lastIndexOf('@') && cell.split(/[;,|\s]/).filter((part) => isEmailSyntax(part)).length > 1
