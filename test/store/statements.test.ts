import pg from 'pg'
import { parseSync, Visitor } from 'vite'
import { beforeAll, expect, test } from 'vitest'
import { type Statement, statements } from '../../src/store/statement.ts'
import { cloneDatabase } from '../support/database.ts'
import { loadStatements, sources } from '../support/statements.ts'

interface Field {
  name: string
  dataTypeID: number
}

interface Described {
  fields: Field[]
  /** The types of the parameters, in the order of their numbers. */
  parameters: number[]
}

/** Asks the server for the columns and parameters of a statement without running it; node-postgres calls the handlers with the answers. */
class Description {
  readonly #described: Described = { fields: [], parameters: [] }
  #error: Error | undefined
  readonly done: Promise<Described>
  #settle!: () => void
  readonly #statement: Statement<object>

  constructor(statement: Statement<object>) {
    this.#statement = statement
    this.done = new Promise((resolve, reject) => {
      this.#settle = () => (this.#error ? reject(this.#error) : resolve(this.#described))
    })
  }

  submit(connection: pg.Connection) {
    const { name, text } = this.#statement
    connection.once('parameterDescription', ({ dataTypeIDs }: { dataTypeIDs: number[] }) => {
      this.#described.parameters = dataTypeIDs
    })
    connection.parse({ name, text, types: [] }, false)
    connection.describe({ type: 'S', name }, false)
    connection.sync()
  }
  handleRowDescription({ fields }: { fields: Field[] }) {
    this.#described.fields = fields
  }
  handleError(error: Error) {
    this.#error = error
    this.#settle()
  }
  handleReadyForQuery() {
    this.#settle()
  }
}

await loadStatements()

let client: pg.Client
let typeNames: Map<number, string>

beforeAll(async () => {
  const { url, drop } = await cloneDatabase()
  client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query<{ oid: number; typname: string }>('select oid, typname from pg_type')
  typeNames = new Map(rows.map(({ oid, typname }) => [oid, typname]))
  return async () => {
    await client.end()
    await drop()
  }
})

/** Prepares the statement on the server and returns the columns that it would return, with their types, and the types of its parameters. */
const describeStatement = async (statement: Statement<object>) => {
  const { fields, parameters } = await client.query(new Description(statement)).done
  return {
    columns: Object.fromEntries(fields.map(({ name, dataTypeID }) => [name, typeNames.get(dataTypeID)])),
    parameters: parameters.map((type) => typeNames.get(type)),
  }
}

test('statements are declared', () => {
  expect(statements.size).toBeGreaterThan(2)
})

test.each([...statements.values()])('the statement $name has its declared columns and parameters', async (declared) => {
  const { columns, parameters } = await describeStatement(declared)
  expect(columns).toEqual(declared.columns)
  expect(parameters).toEqual(declared.parameters.map(([, type]) => type))
})

/** Returns the texts without expressions that a file passes to `sql`. */
const fixedTextsIn = (source: string): string[] => {
  const texts: string[] = []
  const isSql = /(^|\.)sql$/
  new Visitor({
    CallExpression: ({ callee, arguments: [first] }) => {
      if (!first || !isSql.test(source.slice(callee.start, callee.end))) return
      const isFixed = first.type === 'Literal' || (first.type === 'TemplateLiteral' && first.expressions.length === 0)
      if (isFixed) texts.push(source.slice(first.start, first.end))
    },
  }).visit(parseSync('source.ts', source).program)
  return texts
}

test('every statement of fixed text is declared', () => {
  const undeclared = sources
    .filter(({ source }) => source.includes('sql'))
    .flatMap(({ file, source }) => fixedTextsIn(source).map((text) => `${file}: ${text}`))
  expect(undeclared).toEqual([])
  expect(fixedTextsIn(`sql<Row>('select 1'); sql(\`select \${table}\`); sql(declared)`)).toEqual(["'select 1'"])
})

test('a statement whose columns or parameters differ from its declaration is noticed', async () => {
  const wrong = {
    name: 'wrong',
    text: `select $1::int as "one", 'a' as "two"`,
    columns: {},
    parameters: [],
    isPrepared: false,
  }
  expect(await describeStatement(wrong)).toEqual({ columns: { one: 'int4', two: 'text' }, parameters: ['int4'] })
})
