/** Returns one line of CSV (RFC 4180) with its line end. Values are quoted only if necessary. */
export const csvLine = (values: readonly (string | number)[]): string =>
  `${values.map((value) => quote(String(value))).join(',')}\r\n`

/** Leading and trailing whitespace is quoted too: many readers strip it otherwise. */
const quote = (value: string): string =>
  /[",;\t\r\n]|^\s|\s$/.test(value) ? `"${value.replaceAll('"', '""')}"` : value

/** Whether a spreadsheet would run the cell as a formula. A signed number is not a formula. */
const isFormula = (value: string): boolean =>
  /^[=+\-@\t\r\n\uff0b\uff0d\uff1d\uff20]/.test(value) && !/^[+-]?\d+([.,]\d+)?$/.test(value)

/** Returns one line of CSV for spreadsheets: a `'` in front of a formula makes the spreadsheet show it as text. */
export const safeCsvLine = (values: readonly (string | number)[]): string =>
  csvLine(values.map((value) => (isFormula(String(value)) ? `'${value}` : value)))
