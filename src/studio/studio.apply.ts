import { isDeepStrictEqual } from 'node:util'
import { deleteTarget, findProjectTarget } from '../deliveries/deliveries.ts'
import { requireFiles } from '../lib/file-faults.ts'
import { newId } from '../lib/ids.ts'
import { lockKey } from '../lib/locks.ts'
import { conflict, noSuch, shown } from '../lib/problem.ts'
import { statement } from '../store/statement.ts'
import type { Work } from '../store/work.ts'
import type { Content, ProjectFile } from './studio.blocks.ts'
import { checkProject } from './studio.check.ts'
import { type ProjectDetail, type ProjectView, projectsNamed } from './studio.find.ts'

/** The result for one document; times in epoch ms. `id` is null if a dry run would create the project. */
export interface AppliedProject extends Omit<ProjectView, 'id'> {
  id: string | null
  outcome: 'created' | 'updated' | 'unchanged'
}

const currentOf = async (work: Work, { id, name }: ProjectFile): Promise<ProjectDetail | undefined> => {
  const found = await projectsNamed(work, { id: id ?? null, name })
  if (id === undefined) return found[0]
  if (found[0]?.id !== id) throw noSuch('project', id, { hint: 'svc projects list' })
  if (found.length > 1) throw conflict(`There is already a project named ${shown(name)}`)
  return found[0]
}

const entitiesOf = (work: Work) => work.em(import('./studio.entities.ts'))

const insertVersion = async (work: Work, projectId: string, version: number, content: Content) => {
  const { accountId, now: createdAt } = work
  const [em, { ProjectVersion }] = await entitiesOf(work)
  await em.insert(ProjectVersion, { accountId, projectId, version, content, createdAt })
}

const create = async (work: Work, content: Content): Promise<string> => {
  const { accountId, now } = work
  const id = newId('prj', now.getTime())
  const [em, { Project }] = await entitiesOf(work)
  await em.insert(Project, { id, accountId, name: content.name, version: 1, createdAt: now, updatedAt: now })
  await insertVersion(work, id, 1, content)
  return id
}

const update = async (work: Work, id: string, version: number, content: Content): Promise<void> => {
  const [em, { Project }] = await entitiesOf(work)
  await em.nativeUpdate(Project, { id }, { name: content.name, version, updatedAt: work.now })
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
  const { id, createdAt, updatedAt, content: currentContent } = current
  if (isDeepStrictEqual(content, currentContent)) {
    return { id, name: current.name, version: current.version, createdAt, updatedAt, outcome: 'unchanged' }
  }
  const version = current.version + 1
  if (!dryRun) await update(work, id, version, content)
  return { id, name: content.name, version, createdAt, updatedAt: nowMs, outcome: 'updated' }
}

const lockProjects = statement(
  'lock-projects',
  { parameters: { accountId: 'text' } },
  `select from pg_advisory_xact_lock(${lockKey('projects', ':accountId')})`,
)

/**
 * Creates projects from documents, or adds a version to existing ones, all or nothing (docs/reference/studio.md#project-files). Sent
 * emails keep their version. An unchanged document adds no version; a new name adds one. `dryRun` writes nothing. Throws Problem
 * `invalid` with every fault of every document, `not_found` for an unknown id, `conflict` if a name is taken.
 */
export const applyProjects = async (
  work: Work,
  documents: readonly unknown[],
  { dryRun = false }: { dryRun?: boolean } = {},
): Promise<AppliedProject[]> => {
  // Serialised within the account: the existing projects are read first, then changed.
  await work.sql(lockProjects, { accountId: work.accountId })
  const files = await requireFiles(documents, 'project', (document) => checkProject(work, document))
  const applied: AppliedProject[] = []
  for (const file of files) applied.push(await applyOne(work, file, dryRun))
  return applied
}

/** Returns the number of bindings and unsent broadcasts that use a project, and whether a webhook would be deleted with it. */
export const planDeletion = async (work: Work, id: string) => {
  const webhook = await findProjectTarget(work, id, { lock: false })
  const planned = { bindings: 0, broadcasts: 0, webhook: webhook !== null }
  for (const listener of await work.listeners()) {
    const uses = await listener.projectUses?.(work, id)
    planned.bindings += uses?.bindings ?? 0
    planned.broadcasts += uses?.broadcasts ?? 0
  }
  return planned
}

/** Deletes a project by its id, and its webhook; sent emails keep their versions. Throws Problem `not_found`. */
export const deleteProject = async (work: Work, id: string): Promise<void> => {
  const [em, { Project }] = await entitiesOf(work)
  const deleted = await em.nativeUpdate(Project, { id, deletedAt: null }, { deletedAt: work.now })
  if (deleted === 0) throw noSuch('project', id, { hint: 'svc projects list' })
  const webhook = await findProjectTarget(work, id, { lock: true })
  if (webhook) await deleteTarget(work, webhook.id)
}
