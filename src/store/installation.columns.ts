// Generated from installation.entities.ts by `npm run columns`: do not edit.
import { typed } from './column-types.ts'
import type * as entities from './installation.entities.ts'
import { table } from './tables.ts'

export const installation = table('installation', {
  id: 'int4',
  secretFingerprint: 'text',
  sealedFormerKeys: 'text?',
  publicUrl: 'text?',
  daemonSettings: typed<entities.Installation['daemonSettings']>('jsonb'),
})
