/** A module that sets the clock of its thread `ms` ahead of this machine's (negative: behind). `globalThis.skewMs` changes that later. */
export const skewModule = (ms: number): string => {
  const patch = `
    const Real = Date
    const ahead = () => Real.now() + (globalThis.skewMs ?? ${ms})
    globalThis.Date = class Date extends Real {
      constructor(...given) { given.length > 0 ? super(...given) : super(ahead()) }
      static now() { return ahead() }
    }`
  return `data:text/javascript;base64,${Buffer.from(patch).toString('base64')}`
}

/** The environment of a process with such a clock, also in its threads. */
export const skewedBy = (ms: number): Record<string, string> => ({ NODE_OPTIONS: `--import=${skewModule(ms)}` })
