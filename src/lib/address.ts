import { z } from 'zod'
import { emailMaxLength, isEmailSyntax, normalizeEmail } from './email.ts'

const isAddress = (email: string): boolean =>
  email.length <= emailMaxLength && email.isWellFormed() && isEmailSyntax(email)

/** An address that mail can be sent to, normalised. `sentence` says of any other what is wrong. */
export const emailAddress = (sentence?: string) =>
  z
    .string(sentence)
    .transform(normalizeEmail)
    .pipe(z.string().refine(isAddress, sentence ?? 'must be an email address'))
    .meta({ format: 'email', maxLength: emailMaxLength })
