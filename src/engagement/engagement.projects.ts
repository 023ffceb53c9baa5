import { Problem } from '../lib/problem.ts'
import type { Projects, Work } from '../store/work.ts'
import { findProject, type ProjectView, renderProject } from '../studio/studio.ts'
import { linksOf } from './engagement.sent.ts'

const found = new WeakMap<Work, Map<string, Promise<ProjectView | null>>>()

/** By its id alone: that a project has such a name is nothing to a caller of the API. */
const projectOf = async (work: Work, id: string): Promise<ProjectView | null> => {
  try {
    const project = await findProject(work, id)
    return project.id === id ? project : null
  } catch (error) {
    if (error instanceof Problem && error.kind === 'missing') return null
    throw error
  }
}

/** The projects as the messages know them: rendered by the studio, with links that lead here. */
export const projects: Projects = {
  // Many mails of one unit of work are of one project.
  loadProject(work, id) {
    const known = found.getOrInsertComputed(work, () => new Map())
    return known.getOrInsertComputed(id, () => projectOf(work, id))
  },

  renderProject: (app, { accountId, messageId, id, version, mergeData, links }) =>
    renderProject(app, {
      ...{ accountId, id, version, mergeData },
      links: linksOf(app, accountId, messageId, links.unsubscribe),
    }),
}
