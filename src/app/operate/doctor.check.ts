/** What `svc doctor` found of one thing; `message` says what is, and what to do where something is wrong. */
export interface Check {
  name: string
  status: 'ok' | 'warn' | 'fail'
  message: string
}

const check =
  (status: Check['status']) =>
  (name: string, message: string): Check => ({ name, status, message })

export const ok = check('ok')
export const warn = check('warn')
export const fail = check('fail')

/** What went wrong, in a word or a sentence: the code of a socket's or a file's fault where it has one. */
export const reasonOf = (error: unknown): string => {
  const { code, cause, message } = error as { code?: string; cause?: { code?: string }; message?: string }
  return cause?.code ?? code ?? message ?? String(error)
}
