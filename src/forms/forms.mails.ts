import { plainMail } from '../pages/plain-mail.ts'

/** Returns the email that asks the owner of an address to confirm a signup. */
export const confirmMail = ({ formName, url }: { formName: string; url: string }) => {
  const { subject, ...content } = plainMail(
    `Please confirm: ${formName}`,
    [
      `Someone signed up for ${formName} with this address. If it was you, please confirm.`,
      { label: 'Confirm', url, button: true },
      'If it was not you, ignore this email: without the confirmation nothing happens.',
    ],
    'One more step',
  )
  return { subject, content }
}
