import { createCache } from '../lib/cache.ts'
import { noSuch } from '../lib/problem.ts'
import type { Work } from '../store/work.ts'
import type { Content } from './studio.blocks.ts'

type Reader = Pick<Work, 'sql' | 'accountId'>

/** A project as the terminal shows it; times in epoch ms. */
export interface ProjectView {
  id: string
  name: string
  /** The newest version, which new emails use. */
  version: number
  createdAt: number
  updatedAt: number
}

/** A project with the content of its newest version. */
export interface ProjectDetail extends ProjectView {
  content: Content
}

type Row<View> = Omit<View, 'createdAt' | 'updatedAt'> & { createdAt: Date; updatedAt: Date }

const columns = 'p.id, p.name, p.version, p.created_at as "createdAt", p.updated_at as "updatedAt"'

const view = ({ id, name, version, createdAt, updatedAt }: Row<ProjectView>): ProjectView => ({
  id,
  name,
  version,
  createdAt: createdAt.getTime(),
  updatedAt: updatedAt.getTime(),
})

/** Returns the account's projects, most recently updated first. */
export const listProjects = async ({ sql, accountId }: Reader): Promise<ProjectView[]> =>
  (
    await sql<Row<ProjectView>>(
      `select ${columns} from projects p where p.account_id = $1 and p.deleted_at is null
       order by p.updated_at desc, p.id desc`,
      [accountId],
    )
  ).map(view)

/** Returns the projects with the id or the name: at most two, the one with the id first. */
export const projectsNamed = async (
  { sql, accountId }: Reader,
  { id, name }: { id: string | null; name: string },
): Promise<ProjectDetail[]> => {
  const rows = await sql<Row<ProjectDetail>>(
    `select ${columns}, v.content from projects p
     join project_versions v on v.account_id = p.account_id and v.project_id = p.id and v.version = p.version
     where p.account_id = $1 and p.deleted_at is null and (p.id = $2 or p.name = $3) order by p.id = $2 desc`,
    [accountId, id, name],
    'projects-named',
  )
  return rows.map((row) => ({ ...view(row), content: row.content }))
}

const noProject = (ref: string) => noSuch('project', ref, { hint: 'svc projects list' })

/** Returns a project by id, else by name, with its content. Throws Problem `not_found`, also for a project of another account. */
export const loadProject = async (reader: Reader, ref: string): Promise<ProjectDetail> => {
  const [project] = await projectsNamed(reader, { id: ref, name: ref })
  if (!project) throw noProject(ref)
  return project
}

/** Returns a project by id, else by name. Throws Problem `not_found`. */
export const findProject = async ({ sql, accountId }: Reader, ref: string): Promise<ProjectView> => {
  const [row] = await sql<Row<ProjectView>>(
    `select ${columns} from projects p where p.account_id = $1 and p.deleted_at is null and (p.id = $2 or p.name = $2)
     order by p.id = $2 desc limit 1`,
    [accountId, ref],
    'find-project',
  )
  if (!row) throw noProject(ref)
  return view(row)
}

const versions = createCache<Content>(100)

/** Locks a project against other changes until the end of the transaction. */
export const lockProject = async ({ sql, accountId }: Pick<Work, 'sql' | 'accountId'>, id: string): Promise<void> => {
  await sql('select from projects where account_id = $1 and id = $2 for no key update', [accountId, id])
}

/** Returns the content of a version, even if its project was deleted. Throws Problem `not_found`. */
export const loadVersion = ({ sql, accountId }: Reader, id: string, version: number): Promise<Content> =>
  versions(JSON.stringify([accountId, id, version]), async () => {
    const [row] = await sql<{ content: Content }>(
      'select content from project_versions where account_id = $1 and project_id = $2 and version = $3',
      [accountId, id, version],
      'load-project-version',
    )
    if (!row) throw noProject(id)
    return row.content
  })
