import { defineEntity, p } from '@mikro-orm/postgresql'

/** One row, written by whoever first opens the migrated database. */
const InstallationSchema = defineEntity({
  name: 'Installation',
  tableName: 'installation',
  properties: {
    id: p.integer().primary().autoincrement(false),
    /** Of the `SVC_SECRET` that everything sealed in this database is sealed with. */
    secretFingerprint: p.text(),
    /** The keys of links that former secrets signed (lib/token.ts), sealed with `installation` as context; null: there are none. */
    sealedFormerKeys: p.text().nullable(),
  },
})
export class Installation extends InstallationSchema.class {}
InstallationSchema.setClass(Installation)
