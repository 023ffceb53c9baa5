import { parseSync } from 'vite'

/** What a mutation does to the code. Each kind is a mistake that a programmer makes. */
export const kinds = [
  'condition',
  'exit',
  'comparison',
  'await',
  'lock',
  'number',
  'sql condition',
  'sql comparison',
  'sql lock',
  'sql number',
] as const

/** A replacement of a part of a file. */
export interface Mutation {
  kind: (typeof kinds)[number]
  start: number
  end: number
  replacement: string
}

interface Node {
  type: string
  start: number
  end: number
  [key: string]: unknown
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as Node).type === 'string'

/** Returns the nodes below `node`, and itself, in the order of the text. Types are skipped: they do not run. */
const nodesOf = (node: Node): Node[] => {
  const isType = node.type.startsWith('TS') && !isNode(node.expression)
  if (isType) return []
  return [node, ...Object.values(node).flat().filter(isNode).flatMap(nodesOf)]
}

const flipped: Record<string, string> = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '===': '!==',
  '!==': '===',
  'is null': 'is not null',
  'is not null': 'is null',
}

/** Above it, a step of one is a millisecond or a row among thousands. */
const largest = 1000
const neighboursOf = (value: number): string[] => (value === 0 ? ['1'] : [String(value + 1), String(value - 1)])

const leaves = /^(?:Return|Throw|Continue|Break)Statement$/
const isExit = (node: Node): boolean =>
  node.type === 'BlockStatement' ? isExit((node.body as Node[]).at(-1) ?? node) : leaves.test(node.type)

/** Whether a call takes a lock, by the name of the function or of the statement that it runs. */
const isLock = ({ type, callee, arguments: given }: Node): boolean =>
  type === 'CallExpression' &&
  [callee, (given as Node[])[0]].some(
    (node) => isNode(node) && /^(?:lock|guard)(?:ing)?(?:[A-Z]|$)/.test(String(node.name)),
  )

const mutationsOfNode = (node: Node, text: string): Mutation[] => {
  const { type, start, end } = node
  const part = ({ start, end }: Node) => text.slice(start, end)
  const replace = (kind: Mutation['kind'], replacement: string) => ({ kind, start, end, replacement })
  switch (type) {
    case 'LogicalExpression': {
      const { operator, left, right } = node as Node & { left: Node; right: Node }
      return operator === '??' ? [] : [left, right].map((kept) => replace('condition', part(kept)))
    }
    case 'IfStatement':
      return isExit(node.consequent as Node) && !node.alternate ? [replace('exit', ';')] : []
    case 'BinaryExpression': {
      const operator = flipped[node.operator as string]
      const [left, right] = [node.left, node.right] as [Node, Node]
      return operator ? [replace('comparison', `${part(left)} ${operator} ${part(right)}`)] : []
    }
    case 'ExpressionStatement': {
      const expression = node.expression as Node
      const isAwaited = expression.type === 'AwaitExpression'
      const call = isAwaited ? (expression.argument as Node) : expression
      if (isLock(call)) return [replace('lock', ';')]
      return isAwaited ? [replace('await', part(call))] : []
    }
    case 'Literal':
      return typeof node.value === 'number' && Number.isInteger(node.value) && node.value <= largest
        ? neighboursOf(node.value).map((value) => replace('number', value))
        : []
    default:
      return []
  }
}

const isSql = /\b(?:select|where|returning|for update)\b|\bpg_\w+\(| (?:[<>]?=|[<>]|is null|is not null|in) /

/** Masks what is nested in a text: its `${…}` and the strings of its SQL. Offsets stay the same. */
const masked = ({ start, end, expressions }: Node, text: string): string => {
  let mask = text.slice(start, end)
  for (const inner of (expressions as Node[] | undefined) ?? []) {
    const [from, to] = [inner.start - start, inner.end - start]
    mask = mask.slice(0, from) + '_'.repeat(to - from) + mask.slice(to)
  }
  const hide = (found: string) => '_'.repeat(found.length)
  const [quote, rest] = [mask.slice(0, 1), mask.slice(1)]
  return quote + rest.replaceAll(/\$\{_+\}/g, hide).replaceAll(/'[^'\n]+'(?=.)/g, hide)
}

const ends =
  /^(?:and|or|order|group|limit|returning|union|for|on|set|when|then|else|end|left|join|cross|where|having|fetch)\b/

/** Whether the next `and` is that of a `between`. */
const isBetween = /\bbetween\s+\S+\s+$/

/** Returns the end of the condition that begins at `from`: it ends at a bracket that it did not open, a comma or a keyword. */
const endOfCondition = (mask: string, from: number): number => {
  let depth = 0
  for (let at = from; at < mask.length; at++) {
    const letter = mask[at]!
    if (letter === '(') depth++
    if (letter === ')' && depth-- === 0) return at
    if (depth > 0) continue
    if (letter === ',' || letter === ';' || letter === '`') return at
    const isWord = /\W/.test(mask[at - 1]!) && ends.test(mask.slice(at, at + 12))
    if (isWord && !isBetween.test(mask.slice(from, at))) return at
  }
  return mask.length - 1
}

const mutationsOfSql = (node: Node, text: string): Mutation[] => {
  const mask = masked(node, text)
  if (!isSql.test(mask)) return []
  const replace = (kind: Mutation['kind'], at: number, length: number, replacement: string): Mutation => ({
    kind,
    start: node.start + at,
    end: node.start + at + length,
    replacement,
  })
  const matches = (pattern: RegExp, mutationsAt: (match: RegExpExecArray) => Mutation[]) =>
    [...mask.matchAll(pattern)].flatMap(mutationsAt)
  return [
    // A dropped condition would leave its parameters without a type, and every test would notice that.
    ...matches(/\b(?:where|and|on)\s+(?=\S)/g, (match) => {
      const at = match.index + match[0].length
      const condition = text.slice(node.start + at, node.start + endOfCondition(mask, at)).trimEnd()
      const isBounds = isBetween.test(mask.slice(0, match.index))
      const isCondition = /^(?:not |exists|\w+\(|\$\{)|[=<>~]|\b(?:is|in|like|between)\b/.test(condition)
      return isCondition && !isBounds ? [replace('sql condition', at, condition.length, `(${condition} or true)`)] : []
    }),
    ...matches(/(?<= )(?:<=?|>=?)(?= )|\bis (?:not )?null\b/g, ({ 0: found, index }) => [
      replace('sql comparison', index, found.length, flipped[found]!),
    ]),
    ...matches(
      /\s*\bfor (?:no key update|update|key share|share)\b(?: of \w+(?:, \w+)*)?(?: skip locked| nowait)?/g,
      ({ 0: found, index }) => [replace('sql lock', index, found.length, '')],
    ),
    // The call gets the same arguments and locks nothing.
    ...matches(/\bpg_(try_)?advisory_(?:xact_)?lock(?:_shared)?(?=\()/g, ({ 0: found, 1: tries, index }) => [
      replace('sql lock', index, found.length, tries ? '0 <= num_nulls' : 'num_nulls'),
    ]),
    ...matches(/(?<=(?:\blimit|[=<>]) )\d+\b(?!\.)/g, ({ 0: found, index }) =>
      neighboursOf(Number(found)).map((value) => replace('sql number', index, found.length, value)),
    ),
  ]
}

/** Returns every mutation of a file in TypeScript. */
export const mutationsOf = (path: string, text: string): Mutation[] => {
  const isText = ({ type, value }: Node) =>
    type === 'TemplateLiteral' || (type === 'Literal' && typeof value === 'string')
  return nodesOf(parseSync(path, text).program as unknown as Node).flatMap((node) =>
    isText(node) ? mutationsOfSql(node, text) : mutationsOfNode(node, text),
  )
}

export const mutated = (text: string, { start, end, replacement }: Mutation): string =>
  text.slice(0, start) + replacement + text.slice(end)

/** Returns the lines that a mutation changes, before and after, as a diff shows them. */
export const diffOf = (text: string, mutation: Mutation): { line: number; diff: string } => {
  const { start, end, replacement } = mutation
  const line = text.slice(0, start).split('\n').length
  const from = text.lastIndexOf('\n', start - 1) + 1
  const to = text.indexOf('\n', end)
  const rest = text.slice(end, to)
  const lines = (sign: string, part: string) => part.split('\n').map((each) => `${sign} ${each}`)
  const before = lines('-', text.slice(from, to))
  const after = lines('+', text.slice(from, start) + replacement + rest)
  return { line, diff: [...before, ...after].join('\n') }
}
