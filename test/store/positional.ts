/** The files that still number the parameters of statements, or write their rows' types by hand. The list only gets shorter. */
export const positional: readonly string[] = []
