/** SQL expression: the filter of a segment; null if it does not exist. */
export const filterOfSegment = (account: string, id: string): string =>
  `(select s.filter from segments s where s.account_id = ${account} and s.id = ${id})`
