import { defineEntity, p } from '@mikro-orm/postgresql'
import { owned, tenantFilter } from '../store/tenant.ts'

/**
 * Why an address gets no email, or no marketing: one row for each reason. The reasons `invalid` and `pending` are not stored here;
 * they follow from the contact's verification and status.
 */
const SuppressionSchema = defineEntity({
  name: 'Suppression',
  tableName: 'suppressions',
  filters: tenantFilter,
  indexes: [
    {
      name: 'suppressions_topic_index',
      expression: `create index "suppressions_topic_index" on "suppressions" ("account_id", "topic_id") where "topic_id" <> ''`,
    },
  ],
  properties: {
    accountId: p.text().collation('C').primary(),
    email: p.text().collation('C').primary(),
    reason: p.enum(['complained', 'bounced', 'manual', 'unsubscribed'] as const).primary(),
    /** The topic that an address with the reason `unsubscribed` left. It is empty if the address left everything. */
    topicId: p.text().collation('C').default('').primary(),
    createdAt: p.datetime(),
  },
})
export class Suppression extends SuppressionSchema.class {}
SuppressionSchema.setClass(Suppression)

/** A topic of marketing email, which people can leave. */
const TopicSchema = defineEntity({
  name: 'Topic',
  tableName: 'topics',
  filters: tenantFilter,
  indexes: [
    {
      name: 'topics_name_index',
      expression: `create unique index "topics_name_index" on "topics" ("account_id", "name") where "deleted_at" is null`,
    },
    {
      name: 'topics_deleted_index',
      expression: `create index "topics_deleted_index" on "topics" ("deleted_at") where "deleted_at" is not null`,
    },
  ],
  properties: {
    id: p.text().collation('C').primary(),
    ...owned,
    name: p.text(),
    description: p.text(),
    createdAt: p.datetime(),
    /** When it was deleted: housekeeping deletes the row later, unless somebody has left it. */
    deletedAt: p.datetime().nullable(),
  },
})
export class Topic extends TopicSchema.class {}
TopicSchema.setClass(Topic)
