import { defineEntity, p } from '@mikro-orm/postgresql'

/** One row, written by the process that first opens the migrated database. */
const InstallationSchema = defineEntity({
  name: 'Installation',
  tableName: 'installation',
  properties: {
    id: p.integer().primary().autoincrement(false),
    /** Fingerprint of the `SVC_SECRET` that seals everything in this database. */
    secretFingerprint: p.text(),
    /** Keys of former secrets, which still verify their links (lib/token.ts), sealed with `installation` as context, if there are any. */
    sealedFormerKeys: p.text().nullable(),
    /** `SVC_PUBLIC_URL` of the daemon that started last, so that commands build the same links. It is null until a daemon has started. */
    publicUrl: p.text().nullable(),
    /** Settings of that daemon that commands should share, by name; no secrets. */
    daemonSettings: p.json<Record<string, unknown>>().nullable(),
  },
})
export class Installation extends InstallationSchema.class {}
InstallationSchema.setClass(Installation)
