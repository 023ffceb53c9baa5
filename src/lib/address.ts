import { z } from 'zod'
import { emailMaxLength, isEmailSyntax, normalizeEmail } from './email.ts'

const isAddress = (email: string): boolean =>
  email.length <= emailMaxLength && email.isWellFormed() && isEmailSyntax(email)

/** Schema of an email address, which it normalises (docs/reference/rules.md#email-addresses). `message` replaces the default error. */
export const emailAddress = (message?: string) =>
  z
    .string(message)
    .transform(normalizeEmail)
    .pipe(z.string().refine(isAddress, message ?? 'must be an email address'))
    .meta({ format: 'email', maxLength: emailMaxLength })
