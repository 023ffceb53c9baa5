import type { PersonalDataPart } from '../store/work.ts'

/** The unconfirmed signups of an address, its consents, and the forms that it submitted. */
export const personalData: readonly PersonalDataPart[] = [
  {
    name: 'signups',
    // Loaded lazily: every process loads this file, few export data.
    read: async (reader, email) => (await import('./forms.link.ts')).signupsOf(reader, email),
  },
  {
    name: 'consents',
    read: async (reader, email) => (await import('./forms.consents.ts')).consentsOf(reader, email),
  },
  {
    name: 'submittedForms',
    read: async (reader, email) => (await import('./forms.stats.ts')).formsOf(reader, email),
  },
]
