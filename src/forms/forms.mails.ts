import { type MailBrand, plainMail } from '../pages/plain-mail.ts'

/** Returns the email that asks the owner of an address to confirm a signup. */
export const confirmMail = ({ formName, url, brand }: { formName: string; url: string; brand?: MailBrand }) => {
  const { subject, ...content } = plainMail(
    `Please confirm: ${formName}`,
    [
      `Someone signed up for ${formName} with this address. If it was you, please confirm.`,
      { label: 'Confirm', url, button: true },
      'If it was not you, ignore this email: without the confirmation nothing happens.',
    ],
    { preheader: `Confirm your address for ${formName} with one click.`, heading: 'One more step', brand },
  )
  return { subject, content }
}
