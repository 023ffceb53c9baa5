import type { App } from '../store/work.ts'

/** The page URLs of a registration. Each is authorised only by its token. */
export interface Links {
  join: string
  calendar: string
  cancel: string
  /** Only for leaving the waitlist. */
  leave: string
}

/** Returns the links of a registration. They never expire; the registration's state decides what they show. */
export const linksOf = (
  { config, tokens }: Pick<App, 'config' | 'tokens'>,
  accountId: string,
  registrationId: string,
): Links => {
  const join = `${config.publicUrl}/join/${tokens.sign('join', [accountId, registrationId], null)}`
  const leave = `${config.publicUrl}/w/${tokens.sign('waitlist', [accountId, registrationId], null)}`
  return { join, calendar: `${join}/calendar.ics`, cancel: `${join}/cancel`, leave }
}
