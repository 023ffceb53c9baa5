/** Part of a page's script: whether the visitor's language writes times with 12 hours. Dates are in the language of the page. */
export const hour12Script = `
const hour12 = new Intl.DateTimeFormat(navigator.language, { hour: 'numeric' }).resolvedOptions().hour12
`
