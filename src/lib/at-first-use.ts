/** Returns a function that creates a value at its first call, and returns it: for values that are slow to create and rarely used. */
export const atFirstUse = <Value extends object>(create: () => Value): (() => Value) => {
  let value: Value | undefined
  return () => {
    value ??= create()
    return value
  }
}
