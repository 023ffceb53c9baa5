/** Returns the SQL expression of a time in epoch ms. */
export const epochMs = (at: string): string => `(extract(epoch from ${at}) * 1000)::int8`

/** A row with its times in epoch ms, as views show them. */
export type InEpochMs<Row> = {
  [Name in keyof Row]: Date extends Row[Name] ? Exclude<Row[Name], Date> | number : Row[Name]
}

/** Returns a row with its times in epoch ms. */
export const inEpochMs = <Row extends object>(row: Row): InEpochMs<Row> =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, value instanceof Date ? value.getTime() : value]),
  ) as InEpochMs<Row>
