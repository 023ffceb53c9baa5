/** Formats a number: `60,021`. `lang`: the language of an account; null: English. */
export const number = (value: number, lang: string | null = null): string => value.toLocaleString(lang ?? 'en')

/** `1 person`, `60,021 people` */
export const quantity = (count: number, one: string, many = `${one}s`, lang: string | null = null): string =>
  `${number(count, lang)} ${count === 1 ? one : many}`
