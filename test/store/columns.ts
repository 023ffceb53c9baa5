/*
 * Writes `x.columns.ts` beside each `x.entities.ts`: the tables with their columns, for statements. `npm run columns` runs it after a change
 * of an entity. The entities themselves would load MikroORM.
 */
import { writeFile } from 'node:fs/promises'
import { basename, join, relative } from 'node:path'
import { type EntityMetadata, type EntityProperty, MikroORM } from '@mikro-orm/postgresql'
import { columnOf } from '../../src/store/tables.ts'
import { entityFiles, loadEntityModules } from '../support/entities.ts'

const src = join(import.meta.dirname, '../../src')

/** As pg_type names them. */
const typeNames: Readonly<Record<string, string>> = {
  int: 'int4',
  smallint: 'int2',
  bigint: 'int8',
  serial: 'int4',
  bigserial: 'int8',
  boolean: 'bool',
  'double precision': 'float8',
  'text[]': '_text',
}

const typeNameOf = ({ columnTypes: [type = ''] }: EntityProperty): string => {
  const plain = type.replace(/ ?\(.*?\)/, '')
  return typeNames[plain] ?? plain
}

const propertyOf = (column: string): string => column.replace(/_[a-z0-9]/g, (part) => part[1]!.toUpperCase())

/** Whether TypeScript knows more of the values than the column's type says. */
const isNarrow = ({ enum: isEnum }: EntityProperty, type: string): boolean => isEnum === true || /^jsonb?$/.test(type)

const columnIn = (entity: string, property: EntityProperty): string => {
  const [column = ''] = property.fieldNames
  const name = propertyOf(column)
  if (columnOf(name) !== column) throw new Error(`${column} has no name of a property`)
  const type = typeNameOf(property)
  if (isNarrow(property, type)) return `  ${name}: typed<entities.${entity}['${property.name}']>('${type}'),`
  return `  ${name}: '${type}${property.nullable ? '?' : ''}',`
}

const tableIn = (entity: string, { tableName, props }: EntityMetadata): string => {
  const columns = props.filter(({ fieldNames, persist }) => fieldNames?.length > 0 && persist !== false)
  return `export const ${propertyOf(tableName)} = table('${tableName}', {
${columns.map((property) => columnIn(entity, property)).join('\n')}
})
`
}

const pathIn = (line: string): string => line.slice(line.indexOf(' from '))

/** Returns the sources of all `x.columns.ts`, by path. */
export const generateColumns = async (): Promise<Map<string, string>> => {
  const modules = await loadEntityModules()
  const orm = await MikroORM.init({
    entities: modules.flatMap((module) => Object.values(module)),
    clientUrl: 'postgresql://localhost/none',
    ensureDatabase: false,
    logger: () => {},
  })
  const sources = entityFiles.map((file, i): [string, string] => {
    const tables = Object.entries(modules[i]!)
      .map(([entity, made]) => [entity, orm.getMetadata().get(made)] as const)
      .filter(([, { tableName, pivotTable }]) => tableName && !pivotTable)
      .map(([entity, metadata]) => tableIn(entity, metadata as EntityMetadata))
    const body = tables.join('\n')
    const isTyped = body.includes('typed<')
    const lib = file.startsWith('store/') ? './' : '../store/'
    const imports = [
      `import { table } from '${lib}tables.ts'`,
      ...(isTyped
        ? [`import { typed } from '${lib}column-types.ts'`, `import type * as entities from './${basename(file)}'`]
        : []),
    ].sort((a, b) => (pathIn(a) < pathIn(b) ? -1 : 1))
    const heading = `// Generated from ${basename(file)} by \`npm run columns\`: do not edit.\n`
    return [join(src, file.replace('.entities.', '.columns.')), `${heading}${imports.join('\n')}\n\n${body}`]
  })
  await orm.close()
  return new Map(sources)
}

if (import.meta.main) {
  for (const [file, source] of await generateColumns()) {
    await writeFile(file, source)
    process.stdout.write(`${relative(src, file)}\n`)
  }
}
