import { defineEntity, p } from '@mikro-orm/postgresql'

/**
 * The project that a lifecycle email is rendered from. It has no foreign keys: if the project was deleted, the plain email is sent.
 */
const LifecycleBindingSchema = defineEntity({
  name: 'LifecycleBinding',
  tableName: 'lifecycle_bindings',
  properties: {
    accountId: p.text().collation('C').primary(),
    subjectKind: p.enum(['course', 'webinar'] as const).primary(),
    subjectId: p.text().collation('C').primary(),
    event: p.enum(['enrolled', 'completed', 'registered', 'reminder', 'attended', 'missed'] as const).primary(),
    projectId: p.text().collation('C'),
    /** The subject of the emails. It is null for the project's name. */
    subjectLine: p.text().nullable(),
    /** The id or the address of the sender. It is null for the account's default. */
    sender: p.text().nullable(),
    updatedAt: p.datetime(),
  },
})
export class LifecycleBinding extends LifecycleBindingSchema.class {}
LifecycleBindingSchema.setClass(LifecycleBinding)
