import type { PersonalDataPart } from '../store/work.ts'

/** The unconfirmed signups of an address. */
export const personalData: PersonalDataPart = {
  name: 'signups',
  // Loaded lazily: every process loads this file, few export data.
  read: async (reader, email) => (await import('./forms.link.ts')).signupsOf(reader, email),
}
