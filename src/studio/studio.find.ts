import { createCache } from '../lib/cache.ts'
import { noSuch } from '../lib/problem.ts'
import type { RowOf } from '../store/column-types.ts'
import { type InEpochMs, inEpochMs } from '../store/epoch-ms.ts'
import { preparedStatement, statement } from '../store/statement.ts'
import { columns, types } from '../store/tables.ts'
import type { AccountSql } from '../store/work.ts'
import type { Content } from './studio.blocks.ts'
import { projects, projectVersions } from './studio.columns.ts'

const shownColumns = columns(projects, ['id', 'name', 'version', 'createdAt', 'updatedAt'], 'p')

/** A project as the terminal shows it. `version` is the newest one, which new emails use. */
export type ProjectView = InEpochMs<RowOf<typeof shownColumns.types>>

/** A project with the content of its newest version. */
export interface ProjectDetail extends ProjectView {
  content: Content
}

/** Returns the SQL expression of the name of a project. It is null if the project was deleted. */
export const projectNameOf = (account: string, id: string): string =>
  `(select name from projects where account_id = ${account} and id = ${id} and deleted_at is null)`

const readProjects = statement(
  'list-projects',
  { row: shownColumns.types, parameters: { accountId: 'text' } },
  `select ${shownColumns.list} from projects p where p.account_id = :accountId and p.deleted_at is null
   order by p.updated_at desc, p.id desc`,
)

/** Returns the account's projects, most recently updated first. */
export const listProjects = async ({ sql, accountId }: AccountSql): Promise<ProjectView[]> =>
  (await sql(readProjects, { accountId })).map(inEpochMs)

const readNamed = preparedStatement(
  'projects-named',
  {
    row: { ...shownColumns.types, ...types(projectVersions, 'content') },
    parameters: { accountId: 'text', id: 'text?', name: 'text' },
  },
  `select ${shownColumns.list}, v.content from projects p
   join project_versions v on v.account_id = p.account_id and v.project_id = p.id and v.version = p.version
   where p.account_id = :accountId and p.deleted_at is null and (p.id = :id or p.name = :name) order by p.id = :id desc`,
)

/** Returns the projects with the id or the name: at most two, the one with the id first. */
export const projectsNamed = async (
  { sql, accountId }: AccountSql,
  { id, name }: { id: string | null; name: string },
): Promise<ProjectDetail[]> => {
  const rows = await sql(readNamed, { accountId, id, name })
  return rows.map(inEpochMs)
}

const noProject = (ref: string) => noSuch('project', ref, { hint: 'svc projects list' })

/** Returns a project by id, else by name, with its content. Throws Problem `not_found`, also for a project of another account. */
export const loadProject = async (reader: AccountSql, ref: string): Promise<ProjectDetail> => {
  const [project] = await projectsNamed(reader, { id: ref, name: ref })
  if (!project) throw noProject(ref)
  return project
}

const readProject = preparedStatement(
  'find-project',
  { row: shownColumns.types, parameters: { accountId: 'text', ref: 'text' } },
  `select ${shownColumns.list} from projects p where p.account_id = :accountId and p.deleted_at is null and (p.id = :ref or p.name = :ref)
   order by p.id = :ref desc limit 1`,
)

/** Returns a project by id, else by name. Throws Problem `not_found`. */
export const findProject = async ({ sql, accountId }: AccountSql, ref: string): Promise<ProjectView> => {
  const [row] = await sql(readProject, { accountId, ref })
  if (!row) throw noProject(ref)
  return inEpochMs(row)
}

const lockRow = statement(
  'lock-project',
  { parameters: { accountId: 'text', id: 'text' } },
  'select from projects where account_id = :accountId and id = :id for no key update',
)

/** Locks a project against other changes until the end of the transaction. */
export const lockProject = async ({ sql, accountId }: AccountSql, id: string): Promise<void> => {
  await sql(lockRow, { accountId, id })
}

const versions = createCache<Content>(100)

const readVersion = preparedStatement(
  'load-project-version',
  { row: types(projectVersions, 'content'), parameters: types(projectVersions, 'accountId', 'projectId', 'version') },
  'select content from project_versions where account_id = :accountId and project_id = :projectId and version = :version',
)

/** Returns the content of a version, even if its project was deleted. Throws Problem `not_found`. */
export const loadVersion = ({ sql, accountId }: AccountSql, id: string, version: number): Promise<Content> =>
  versions(JSON.stringify([accountId, id, version]), async () => {
    const [row] = await sql(readVersion, { accountId, projectId: id, version })
    if (!row) throw noProject(id)
    return row.content
  })
