import { defineEntity, p } from '@mikro-orm/postgresql'
import { owned, tenantFilter } from '../store/tenant.ts'
import type { Content } from './studio.blocks.ts'
import type { Template } from './studio.template.ts'

const ProjectSchema = defineEntity({
  name: 'Project',
  tableName: 'projects',
  filters: tenantFilter,
  indexes: [
    {
      name: 'projects_account_id_name_index',
      expression: `create unique index "projects_account_id_name_index" on "projects" ("account_id", "name") where "deleted_at" is null`,
    },
  ],
  properties: {
    id: p.text().collation('C').primary(),
    ...owned,
    name: p.text(),
    /** The newest version, which new emails use. */
    version: p.integer(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
    /** Projects are only marked as deleted: sent emails keep their version and can still be answered. */
    deletedAt: p.datetime().nullable(),
  },
})
export class Project extends ProjectSchema.class {}
ProjectSchema.setClass(Project)

/** A version of a project. Its content never changes, so sent emails stay as they are. */
const ProjectVersionSchema = defineEntity({
  name: 'ProjectVersion',
  tableName: 'project_versions',
  properties: {
    accountId: p.text().collation('C').primary(),
    projectId: p.text().collation('C').primary(),
    version: p.integer().primary(),
    content: p.json<Content>(),
    /** The rendered content, written at the first use; `renderer` is the revision that rendered it. */
    template: p.json<Template>().nullable(),
    renderer: p.integer().nullable(),
    createdAt: p.datetime(),
  },
})
export class ProjectVersion extends ProjectVersionSchema.class {}
ProjectVersionSchema.setClass(ProjectVersion)
