// Generated from studio.entities.ts by `npm run columns`: do not edit.
import { typed } from '../store/column-types.ts'
import { table } from '../store/tables.ts'
import type * as entities from './studio.entities.ts'

export const projects = table('projects', {
  id: 'text',
  accountId: 'text',
  name: 'text',
  version: 'int4',
  createdAt: 'timestamptz',
  updatedAt: 'timestamptz',
  deletedAt: 'timestamptz?',
})

export const projectVersions = table('project_versions', {
  accountId: 'text',
  projectId: 'text',
  version: 'int4',
  content: typed<entities.ProjectVersion['content']>('jsonb'),
  template: typed<entities.ProjectVersion['template']>('jsonb'),
  renderer: 'int4?',
  createdAt: 'timestamptz',
})
