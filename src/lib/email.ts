import { domainToASCII } from 'node:url'
import isEmail from 'validator/lib/isEmail.js'

/** Longer ones are refused; up to it any text is kept and judged (decisions.md, Contacts). */
export const emailMaxLength = 320

/** Control characters (line ends in a quoted local part too) and invisible marks: none belongs into an envelope. */
const hidden = /[\p{Cc}\u00ad\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/u

/** The form under which an address is stored and compared: trimmed, in lower case, in Unicode's composed form. */
export const normalizeEmail = (text: string): string => text.trim().toLowerCase().normalize('NFC')

/** Whether mail could be addressed to it: internationalised names pass, bare hosts and IP literals do not. */
export const isEmailSyntax = (email: string): boolean => !hidden.test(email) && isEmail.default(email)

/** The domain in its ASCII form, as DNS and domain lists know it; null where the address has none. */
export const emailDomain = (email: string): string | null => {
  const at = email.lastIndexOf('@')
  return at < 0 ? null : domainToASCII(email.slice(at + 1)) || null
}
