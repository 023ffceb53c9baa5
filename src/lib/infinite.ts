/**
 * Returns the fault of a number that JSON's parser could only read as infinite, such as `1e400`: its text would be `Infinity`. Returns
 * null for every other value.
 */
export const infiniteFault = (value: unknown): string | null =>
  value === Infinity || value === -Infinity ? 'must be a number of at most 1.7e308' : null
