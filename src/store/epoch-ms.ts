/** Returns the SQL expression of a time in epoch ms. */
export const epochMs = (at: string): string => `(extract(epoch from ${at}) * 1000)::int8`
