import { terms as termsOfActivity } from '../activity/activity.terms.ts'
import { findBatches } from '../broadcasts/broadcasts.ts'
import { terms as termsOfCourses } from '../courses/courses.terms.ts'
import { terms as termsOfDeals } from '../deals/deals.terms.ts'
import { terms as termsOfEngagement } from '../engagement/engagement.terms.ts'
import { noSuch, Problem } from '../lib/problem.ts'
import { terms as termsOfMessages } from '../messages/messages.terms.ts'
import type { FilterParts } from '../segments/segments.ts'
import { findProject } from '../studio/studio.ts'
import { terms as termsOfSuppressions, termsOfTopics } from '../suppressions/suppressions.terms.ts'
import { terms as termsOfWebinars } from '../webinars/webinars.terms.ts'

/** What filters may name besides contacts. In `in <name>`, a project comes before broadcasts, which by default have its name. */
export const filterParts: FilterParts = {
  terms: [
    ...termsOfMessages,
    ...termsOfSuppressions,
    ...termsOfEngagement,
    ...termsOfActivity,
    ...termsOfDeals,
    ...termsOfWebinars,
    ...termsOfCourses,
    ...termsOfTopics,
  ],
  async findScope(work, ref) {
    const project = await findProject(work, ref).catch((error) => {
      if (error instanceof Problem && error.kind === 'not_found') return null
      throw error
    })
    if (project) return { ids: [project.id], projectIds: [project.id], keys: null }
    const batches = await findBatches(work, ref)
    if (batches.keys.length === 0) throw noSuch('project or broadcast', ref)
    return batches
  },
}
