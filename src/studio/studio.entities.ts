import { defineEntity, p } from '@mikro-orm/postgresql'
import { owned, tenantFilter } from '../store/owned.ts'
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
    /** The newest version: the one that is sent. */
    version: p.integer(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
    /** A project is deleted in name alone: mails that were sent keep their version and go on being answered. */
    deletedAt: p.datetime().nullable(),
  },
})
export class Project extends ProjectSchema.class {}
ProjectSchema.setClass(Project)

/** Its content never changes: a mail that was sent keeps the version that it was made of. */
const ProjectVersionSchema = defineEntity({
  name: 'ProjectVersion',
  tableName: 'project_versions',
  properties: {
    accountId: p.text().collation('C').primary(),
    projectId: p.text().collation('C').primary(),
    version: p.integer().primary(),
    content: p.json<Content>(),
    /** What the content was rendered to at its first use, and by which revision of the renderer. */
    template: p.json<Template>().nullable(),
    renderer: p.integer().nullable(),
    createdAt: p.datetime(),
  },
})
export class ProjectVersion extends ProjectVersionSchema.class {}
ProjectVersionSchema.setClass(ProjectVersion)
