// Generated from installation.entities.ts by `npm run columns`: do not edit.
import { table } from './columns.ts'
import type * as entities from './installation.entities.ts'
import { typed } from './types.ts'

export const installation = table('installation', {
  id: 'int4',
  secretFingerprint: 'text',
  sealedFormerKeys: 'text?',
  publicUrl: 'text?',
  daemonSettings: typed<entities.Installation['daemonSettings']>('jsonb'),
})
