/** Returns the SQL expression of the filter of a segment. It is null if the segment does not exist. */
export const filterOfSegment = (account: string, id: string): string =>
  `(select s.filter from segments s where s.account_id = ${account} and s.id = ${id})`
