/** The environment of a process, with its threads, whose clock is `ms` ahead of this machine's (negative: behind). */
export const skewedBy = (ms: number): Record<string, string> => {
  const patch = `
    const Real = Date
    const ahead = () => Real.now() + (globalThis.skewMs ?? ${ms})
    globalThis.Date = class Date extends Real {
      constructor(...given) { given.length > 0 ? super(...given) : super(ahead()) }
      static now() { return ahead() }
    }`
  return { NODE_OPTIONS: `--import=data:text/javascript;base64,${Buffer.from(patch).toString('base64')}` }
}
