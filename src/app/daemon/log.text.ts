import { printable } from '../../cli/output.ts'

/** A line of the JSON log. */
interface Line {
  level: number
  /** epoch ms */
  time: number
  msg: string
  method?: string
  route?: string | null
  status?: number
  ms?: number
  err?: { message: string; stack: string }
  [property: string]: unknown
}

const warning = 40
const colours = { red: 31, green: 32, yellow: 33, dim: 2 } as const

type Paint = (colour: keyof typeof colours, text: string) => string

/** Returns `12:03:04`, in local time. */
const clockOf = (time: number): string => new Date(time).toTimeString().slice(0, 8)

const colourOf = (status: number): keyof typeof colours => {
  if (status < 400) return 'green'
  return status < 500 ? 'yellow' : 'red'
}

const request = ({ method, route, status = 0, ms, key }: Line, paint: Paint): string => {
  const by = typeof key === 'string' ? paint('dim', `  ${key}`) : ''
  return `${method!.padEnd(6)} ${paint(colourOf(status), String(status))}  ${route ?? '(no route)'}  ${ms} ms${by}`
}

const isSimple = (value: unknown) => ['string', 'number', 'boolean'].includes(typeof value)

const remark = ({ level, msg, err, time: _, pid: _pid, hostname: _host, ...about }: Line, paint: Paint): string => {
  const kind = level > warning ? paint('red', 'error') : paint('yellow', 'warning')
  const facts = Object.entries(about).flatMap(([name, value]) => (isSimple(value) ? [` ${name}=${value}`] : []))
  const stack = err?.stack.split('\n').map((line) => `\n  ${printable(line)}`) ?? []
  return `${kind}  ${msg}${facts.join('')}${stack.join('')}`
}

/**
 * Returns a line of the JSON log as text for people; null for lines below warnings other than requests.
 */
export const textOf = (line: string, isColoured: boolean): string | null => {
  const paint: Paint = (colour, text) => (isColoured ? `\u001b[${colours[colour]}m${text}\u001b[0m` : text)
  const given: Line = JSON.parse(line)
  const isRequest = given.msg === 'request' && given.method !== undefined
  if (!isRequest && given.level < warning) return null
  return `${paint('dim', clockOf(given.time))}  ${isRequest ? request(given, paint) : remark(given, paint)}\n`
}
