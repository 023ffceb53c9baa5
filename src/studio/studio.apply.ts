import { isDeepStrictEqual } from 'node:util'
import { demandFiles } from '../lib/faults.ts'
import { newId } from '../lib/ids.ts'
import { conflict, missing } from '../lib/problem.ts'
import { lockKey } from '../store/locks.ts'
import type { Work } from '../store/work.ts'
import type { Content, ProjectFile } from './studio.blocks.ts'
import { checkProject } from './studio.check.ts'
import { type ProjectDetail, type ProjectView, projectsNamed } from './studio.find.ts'

/** What became of one document; times in epoch ms. `id` is null where a dry run would make the project. */
export interface AppliedProject extends Omit<ProjectView, 'id'> {
  id: string | null
  outcome: 'created' | 'updated' | 'unchanged'
}

const currentOf = async (work: Work, { id, name }: ProjectFile): Promise<ProjectDetail | undefined> => {
  const found = await projectsNamed(work, { id: id ?? null, name })
  if (id === undefined) return found[0]
  if (found[0]?.id !== id) throw missing(`There is no project ${id}`, { hint: 'svc projects list' })
  if (found.length > 1) throw conflict(`There is already a project named ${name}`)
  return found[0]
}

const insertVersion = ({ sql, accountId, now }: Work, id: string, version: number, content: Content) =>
  sql(
    'insert into project_versions (account_id, project_id, version, content, created_at) values ($1, $2, $3, $4, $5)',
    [accountId, id, version, JSON.stringify(content), now],
  )

const create = async (work: Work, content: Content): Promise<string> => {
  const { sql, accountId, now } = work
  const id = newId('prj', now.getTime())
  await sql(
    `insert into projects (id, account_id, name, version, created_at, updated_at) values ($1, $2, $3, 1, $4, $4)`,
    [id, accountId, content.name, now],
  )
  await insertVersion(work, id, 1, content)
  return id
}

const update = async (work: Work, id: string, version: number, content: Content): Promise<void> => {
  const { sql, accountId, now } = work
  await sql('update projects set name = $3, version = $4, updated_at = $5 where account_id = $1 and id = $2', [
    accountId,
    id,
    content.name,
    version,
    now,
  ])
  await insertVersion(work, id, version, content)
}

const applyOne = async (work: Work, file: ProjectFile, dryRun: boolean): Promise<AppliedProject> => {
  const { id: _, ...content } = file
  const current = await currentOf(work, file)
  const nowMs = work.now.getTime()
  if (!current) {
    const id = dryRun ? null : await create(work, content)
    return { id, name: content.name, version: 1, createdAt: nowMs, updatedAt: nowMs, outcome: 'created' }
  }
  const { id, createdAt, updatedAt, content: was } = current
  if (isDeepStrictEqual(content, was)) {
    return { id, name: current.name, version: current.version, createdAt, updatedAt, outcome: 'unchanged' }
  }
  const version = current.version + 1
  if (!dryRun) await update(work, id, version, content)
  return { id, name: content.name, version, createdAt, updatedAt: nowMs, outcome: 'updated' }
}

/**
 * Makes projects of documents, or gives those that are there a new version, all or nothing (decisions.md, Studio
 * projects). Mails that were sent keep their version; what has not changed gets none, a new name is a new version.
 * `dryRun` writes nothing. Throws Problem `invalid` with every fault of every document, `missing` for an id that is not
 * the account's, `conflict` where a name is taken.
 */
export const applyProjects = async (
  work: Work,
  documents: readonly unknown[],
  { dryRun = false }: { dryRun?: boolean } = {},
): Promise<AppliedProject[]> => {
  // One at a time in an account: what is there is looked at first, then changed.
  await work.sql(`select pg_advisory_xact_lock(${lockKey('projects', '$1')})`, [work.accountId])
  const files = await demandFiles(documents, 'project', (document) => checkProject(work, document))
  const applied: AppliedProject[] = []
  for (const file of files) applied.push(await applyOne(work, file, dryRun))
  return applied
}

/** Deletes a project by its id; mails that were sent keep their versions. Throws Problem `missing`. */
export const deleteProject = async ({ sql, accountId, now }: Work, id: string): Promise<void> => {
  const gone = await sql(
    'update projects set deleted_at = $3 where account_id = $1 and id = $2 and deleted_at is null returning id',
    [accountId, id, now],
  )
  if (gone.length === 0) throw missing(`There is no project ${id}`, { hint: 'svc projects list' })
}
