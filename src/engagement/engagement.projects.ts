import { Problem } from '../lib/problem.ts'
import type { Projects } from '../messages/messages.ts'
import type { Work } from '../store/work.ts'
import { stateKey } from '../store/work-state.ts'
import { findProject, type ProjectView, renderProject } from '../studio/studio.ts'
import { linksOf } from './engagement.sent.ts'

const found = stateKey(() => new Map<string, Promise<ProjectView | null>>())

/** Finds a project by its id only: the API does not accept names. */
const projectOf = async (work: Work, id: string): Promise<ProjectView | null> => {
  try {
    const project = await findProject(work, id)
    return project.id === id ? project : null
  } catch (error) {
    if (error instanceof Problem && error.kind === 'not_found') return null
    throw error
  }
}

/** What messages need of projects: rendered by the studio, with links to the live view and the tracking pages. */
export const projects: Projects = {
  // Cached for the unit of work: many of its emails use the same project.
  loadProject: (work, id) => work.state(found).getOrInsertComputed(id, () => projectOf(work, id)),

  renderProject: (app, { accountId, messageId, id, version, mergeData, links, nowMs }) =>
    renderProject(app, {
      accountId,
      id,
      version,
      mergeData,
      nowMs,
      links: linksOf(app, accountId, messageId, links),
    }),
}
