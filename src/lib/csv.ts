/** One line of CSV (RFC 4180), with its line end: quoted where it must be. */
export const csvLine = (values: readonly (string | number)[]): string =>
  `${values.map((value) => quote(String(value))).join(',')}\r\n`

/** Blanks at the ends are quoted too: many readers take them away. */
const quote = (value: string): string =>
  /[",;\t\r\n]|^\s|\s$/.test(value) ? `"${value.replaceAll('"', '""')}"` : value
