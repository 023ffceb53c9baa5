/**
 * Returns the error message for a number that JSON's parser reads as infinite, such as `1e400`, because its text would be `Infinity`.
 * Returns null for every other value. The message continues the name of the field.
 */
export const infiniteFault = (value: unknown): string | null =>
  value === Infinity || value === -Infinity ? 'must be a number between -1.7e308 and 1.7e308' : null
