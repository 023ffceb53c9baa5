/** Formats a number: `60,021`. */
export const number = (value: number): string => value.toLocaleString('en')

/** `1 person`, `60,021 people` */
export const quantity = (count: number, one: string, many = `${one}s`): string =>
  `${number(count)} ${count === 1 ? one : many}`
