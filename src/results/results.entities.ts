import { defineEntity, p } from '@mikro-orm/postgresql'
import { tenantFilter } from '../store/tenant.ts'

/**
 * Results of email, in a scope on a UTC day (results.rows.ts). The scope is a project, a broadcast or a
 * journey, or empty for the account.
 */
const MessageResultSchema = defineEntity({
  name: 'MessageResult',
  tableName: 'message_results',
  filters: tenantFilter,
  properties: {
    accountId: p.text().collation('C').primary(),
    scope: p.text().collation('C').primary(),
    day: p.date().primary(),
    /** `sent`, `opened` and so on (results.rows.ts). Without a check, so that a metric can be added while daemons run. */
    metric: p.text().primary(),
    /** MD5 of `url`. It is empty for the count of all links, and for other metrics. */
    link: p.text().collation('C').default('').primary(),
    /** The previous day on which people were counted in the account. */
    since: p.date().default('-infinity').primary(),
    /** The clicked link, as its author wrote it. */
    url: p.text().default(''),
    count: p.integer(),
  },
})
export class MessageResult extends MessageResultSchema.class {}
MessageResultSchema.setClass(MessageResult)

/** Changes of results that `foldResults` has not added up yet. */
const MessageResultChangeSchema = defineEntity({
  name: 'MessageResultChange',
  tableName: 'message_result_changes',
  filters: tenantFilter,
  properties: {
    accountId: p.text().collation('C').primary(),
    id: p.uuid().defaultRaw('gen_random_uuid()').primary(),
    projectId: p.text().collation('C').nullable(),
    /** The broadcast or journey. */
    cause: p.text().collation('C').nullable(),
    day: p.date(),
    metric: p.text(),
    count: p.integer(),
    /** The person who did it. It is null if it counts messages. */
    email: p.text().collation('C').nullable(),
    /** The clicked link, as its author wrote it. */
    url: p.text().nullable(),
  },
})
export class MessageResultChange extends MessageResultChangeSchema.class {}
MessageResultChangeSchema.setClass(MessageResultChange)

/** The people that the results have counted, so that each counts once. The account counts each on each UTC day. */
const MessagePersonSchema = defineEntity({
  name: 'MessagePerson',
  tableName: 'message_people',
  filters: tenantFilter,
  indexes: [
    {
      name: 'message_people_scope_index',
      expression: `create index "message_people_scope_index" on "message_people" ("account_id", "scope") where "link" = '' and "scope" >= ':'`,
    },
  ],
  properties: {
    accountId: p.text().collation('C').primary(),
    email: p.text().collation('C').primary(),
    /** A project, a broadcast or a journey, or a UTC day of the account. */
    scope: p.text().collation('C').primary(),
    /** As in the results. */
    link: p.text().collation('C').primary(),
    /** The first day of each in the scope. */
    opened: p.date().nullable(),
    clicked: p.date().nullable(),
    answered: p.date().nullable(),
    unsubscribed: p.date().nullable(),
    /** Not used any more: only daemons of the version before write it. */
    news: p.smallint().default(0),
  },
})
export class MessagePerson extends MessagePersonSchema.class {}
MessagePersonSchema.setClass(MessagePerson)
