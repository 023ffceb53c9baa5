import { z } from 'zod'

const isTimezone = (name: string): boolean => {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}
export const Timezone = z
  .string()
  .max(100)
  // Intl accepts offsets too, but they have no daylight saving time.
  .refine((name) => /^[A-Za-z]/.test(name) && isTimezone(name), 'must be a time zone such as Europe/Berlin')
