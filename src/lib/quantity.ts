/** Formats a number in the language of an account, or in English if that is null: `60,021`. */
export const number = (value: number, lang: string | null = null): string => value.toLocaleString(lang ?? 'en')

/** `1 person`, `60,021 people` */
export const quantity = (count: number, one: string, many = `${one}s`, lang: string | null = null): string =>
  `${number(count, lang)} ${count === 1 ? one : many}`
