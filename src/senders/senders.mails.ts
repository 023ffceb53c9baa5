import { type MailBrand, type PlainMail, plainMail } from '../pages/plain-mail.ts'

/** Returns the email that shows that a relay works. */
export const relayMail = (brand?: MailBrand): PlainMail =>
  plainMail('A test of your relay', ['Your relay works: it sent this email.'], {
    preheader: 'Emails of the account can be sent from now on.',
    brand,
  })
