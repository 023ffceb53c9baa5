import type { PersonalDataPart } from '../store/work.ts'

/** The payments of an address, open ones included, in the export of its personal data. */
export const personalData: PersonalDataPart = {
  name: 'payments',
  // Loaded lazily: every process loads this file, few export data.
  read: async (reader, email) => (await import('./checkout.find.ts')).paymentsOf(reader, email),
}
