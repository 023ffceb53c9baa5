import { join } from 'node:path'
import {
  type Expression,
  isAwaitExpression,
  isBinaryExpression,
  isCallExpression,
  isExpressionStatement,
  isPropertyAccessExpression,
  isVoidExpression,
  type Node,
  type SourceFile,
} from 'typescript/unstable/ast'
import { API, type Type, TypeFlags, type UnionType } from 'typescript/unstable/sync'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '..')

const expressionsOf = (file: SourceFile): Expression[] => {
  const found: Expression[] = []
  const walk = (node: Node): void => {
    if (isExpressionStatement(node)) found.push(node.expression)
    node.forEachChild(walk)
  }
  walk(file)
  return found
}

const isAssignment = (expression: Expression): boolean =>
  isBinaryExpression(expression) && /^(?:\?\?|\|\||&&)?=$/.test(expression.operatorToken.getText())

/** Whether the code keeps the promise, or handles its failure with `.catch(handler)` or the second handler of `.then()`. */
const isHandled = (expression: Expression): boolean => {
  if (isAwaitExpression(expression) || isVoidExpression(expression) || isAssignment(expression)) return true
  if (!isCallExpression(expression) || !isPropertyAccessExpression(expression.expression)) return false
  const { name } = expression.expression
  return name.text === 'catch' || (name.text === 'then' && expression.arguments.length === 2)
}

const isPromise = (type: Type): boolean =>
  type.flags & TypeFlags.Union ? (type as UnionType).getTypes().some(isPromise) : type.getSymbol()?.name === 'Promise'

test('each promise is awaited, caught, or marked with void as one that is not waited for', () => {
  // An unstable interface of TypeScript, whose exact version is in package.json. It knows the types that a linter has to guess.
  const api = new API({ cwd: root })
  try {
    const [project] = api.updateSnapshot({ openProjects: [join(root, 'tsconfig.json')] }).getProjects()
    const { program, checker } = project!
    const files = program
      .getSourceFileNames()
      .filter((name) => name.startsWith(`${root}/`) && !name.includes('node_modules'))
    expect(files.length).toBeGreaterThan(1000)
    const floating = files.flatMap((name) => {
      const file = program.getSourceFile(name)!
      const expressions = expressionsOf(file).filter((expression) => !isHandled(expression))
      const types = checker.getTypeAtLocation(expressions)
      return expressions
        .filter((_, i) => isPromise(types[i]!))
        .map((expression) => `${name.slice(root.length + 1)}: ${expression.getText(file).split('\n')[0]}`)
    })
    expect(floating).toEqual([])
  } finally {
    api.close()
  }
})
