/** The result of one check of `svc doctor`. `message` states the finding and, after a failure, the fix. */
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

/** Returns the reason of an error: the code of a socket or file error if it has one, otherwise the message. */
export const reasonOf = (error: unknown): string => {
  const { code, cause, message } = error as { code?: string; cause?: { code?: string }; message?: string }
  return cause?.code ?? code ?? message ?? String(error)
}
