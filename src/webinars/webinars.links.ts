import type { App } from '../store/work.ts'

/** The pages of one registration; each opens by its token alone. */
export interface Links {
  join: string
  calendar: string
  cancel: string
}

/** The links of a registration. They never expire: the registration's state says what they show. */
export const linksOf = (
  { config, tokens }: Pick<App, 'config' | 'tokens'>,
  accountId: string,
  registrationId: string,
): Links => {
  const join = `${config.publicUrl}/join/${tokens.sign('join', [accountId, registrationId], null)}`
  return { join, calendar: `${join}/calendar.ics`, cancel: `${join}/cancel` }
}
