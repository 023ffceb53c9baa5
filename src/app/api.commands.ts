import type { Context } from '../cli/command.ts'
import { type CommandList, command } from '../cli/define.ts'
import { argument, text } from '../cli/flags.ts'
import { readInput, readText } from '../cli/input.ts'
import { jsonText, type Output, printable } from '../cli/output.ts'
import { Problem, type ProblemKind, shown } from '../lib/problem.ts'

/** The problem kind of an HTTP status, so that the exit status is that of the equivalent command. */
const kinds: Record<number, ProblemKind> = {
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  409: 'conflict',
  410: 'gone',
  429: 'limited',
  502: 'upstream',
  503: 'unavailable',
  504: 'unavailable',
}
const kindOf = (status: number): ProblemKind =>
  kinds[status] ?? (status >= 400 && status < 500 ? 'invalid' : 'internal')

/** Paths that do not get the prefix /api/v1. */
const unprefixed = /^\/(api\/|healthz|readyz|metrics|openapi\.json|docs)/

const pathOf = (given: string): string => {
  const path = given.startsWith('/') ? given : `/${given}`
  return unprefixed.test(path) ? path : `/api/v1${path}`
}

const bodyOf = async (data: string | undefined, out: Output): Promise<string | null> =>
  data === undefined ? null : readText(data, '--data', out)

/** Reads the API key from the environment: flags never take secrets. */
const readKey = async (): Promise<string | null> => {
  const { SVC_API_KEY: key, SVC_API_KEY_FILE: file } = process.env
  if (!file) return key || null
  const text = await readInput(file, 'SVC_API_KEY_FILE').catch((error: Error) => {
    throw new Problem('configuration', error.message)
  })
  if (key && key !== text.trim())
    throw new Problem('configuration', 'SVC_API_KEY and SVC_API_KEY_FILE have different values: set only one')
  return text.trim()
}

/** Prints the body unchanged into a pipe, for programs such as `jq`; on a terminal JSON is indented. */
const show = ({ out }: Context, body: string, type: string): void => {
  const isIndented = out.isTerminal && out.format === 'table' && type.includes('json')
  const text = isIndented ? jsonText(JSON.parse(body), 2) : body
  for (const line of text.trimEnd().split('\n')) out.line(out.isTerminal ? printable(line) : line)
}

const call = async (context: Context, method: string, path: string, { data }: { data?: string }): Promise<void> => {
  const verb = method.toUpperCase()
  if (!/^[A-Z]+$/.test(verb)) throw new Problem('usage', `${shown(method)} is not an HTTP method`)
  if (data !== undefined && (verb === 'GET' || verb === 'HEAD')) throw new Problem('usage', `${verb} takes no --data`)
  const { readAddress } = await import('./config.ts')
  const [address, key, body] = [readAddress(), await readKey(), await bodyOf(data, context.out)]
  const answer = await fetch(`${address}${pathOf(path)}`, {
    method: verb,
    body,
    redirect: 'manual',
    signal: context.signal,
    headers: {
      ...(key && { authorization: `Bearer ${key}` }),
      ...(body !== null && { 'content-type': 'application/json' }),
    },
  }).catch((error) => {
    if (context.signal.aborted) throw error
    throw new Problem('unavailable', `No daemon answers at ${address}`, { hint: 'svc serve, or set SVC_PUBLIC_URL' })
  })
  const text = await answer.text()
  if (text !== '') show(context, text, answer.headers.get('content-type') ?? '')
  if (answer.ok) return
  const hint = answer.status === 401 && !key ? { hint: 'set SVC_API_KEY: svc keys create --name <name>' } : {}
  throw new Problem(kindOf(answer.status), `${verb} ${pathOf(path)} returned ${answer.status}`, hint)
}

/** The command `svc api`: one call to a running daemon. */
export const commands: CommandList = [
  command({
    path: 'api',
    examples: ['svc api GET /lists', 'svc api POST /contacts --data @contact.json'],
    arguments: [
      argument('<method>', 'such as GET', { of: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] }),
      argument('<path>', 'such as /lists or /api/v1/lists'),
    ],
    flags: { data: text('<@file|-|text>', 'the JSON body: from a file, from standard input, or given here') },
    app: 'none',
    run: call,
  }),
]
