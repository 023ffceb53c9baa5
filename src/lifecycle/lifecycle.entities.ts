import { defineEntity, p } from '@mikro-orm/postgresql'

/** Which project a lifecycle mail is made of. It refers to nothing: a project or a course that is gone leaves the plain mail. */
const LifecycleBindingSchema = defineEntity({
  name: 'LifecycleBinding',
  tableName: 'lifecycle_bindings',
  properties: {
    accountId: p.text().collation('C').primary(),
    subjectKind: p.enum(['course', 'webinar'] as const).primary(),
    subjectId: p.text().collation('C').primary(),
    event: p.enum(['enrolled', 'completed', 'registered', 'reminder'] as const).primary(),
    projectId: p.text().collation('C'),
    updatedAt: p.datetime(),
  },
})
export class LifecycleBinding extends LifecycleBindingSchema.class {}
LifecycleBindingSchema.setClass(LifecycleBinding)
