type Given<T> = { [K in keyof T]?: Exclude<T[K], undefined> }

/** Returns the properties of an object that have a value, which may be null. */
export const given = <T extends object>(input: T): Given<T> =>
  Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined)) as Given<T>
