import { defineEntity, p } from '@mikro-orm/postgresql'
import { tenantFilter } from '../store/owned.ts'

/**
 * What recipients did with their mails: one row for what counts once, which its key says. A changed answer changes its row.
 */
const InteractionSchema = defineEntity({
  name: 'Interaction',
  tableName: 'interactions',
  filters: tenantFilter,
  indexes: [
    { name: 'interactions_project_index', properties: ['accountId', 'projectId', 'id'] },
    { name: 'interactions_email_index', properties: ['accountId', 'email'] },
    {
      name: 'interactions_text_index',
      expression: `create index "interactions_text_index" on "interactions" ("at") where "kind" = 'form' and "value" is not null`,
    },
  ],
  properties: {
    accountId: p.text().collation('C').primary(),
    messageId: p.text().collation('C').primary(),
    kind: p.enum(['open', 'click', 'vote', 'rating', 'quiz', 'form', 'booking', 'purchase'] as const).primary(),
    /** The block that was answered, or that the link stands in; empty: none. */
    blockId: p.text().collation('C').primary(),
    /** Which link of the mail, by its number; empty for all else. */
    link: p.text().collation('C').primary(),
    /** By a machine: kept, but neither scored nor told. */
    isBot: p.boolean().primary(),
    /** New with every answer that is told. */
    id: p.text().collation('C'),
    projectId: p.text().collation('C'),
    email: p.text().collation('C'),
    /** null for a form: its text was dropped (engagement.retention.ts). */
    value: p.json<unknown>().nullable(),
    at: p.datetime(),
  },
})
export class Interaction extends InteractionSchema.class {}
InteractionSchema.setClass(Interaction)

/** How engaged an address is: what it was worth at a time, from which it fades. */
const LeadScoreSchema = defineEntity({
  name: 'LeadScore',
  tableName: 'lead_scores',
  filters: tenantFilter,
  properties: {
    accountId: p.text().collation('C').primary(),
    email: p.text().collation('C').primary(),
    points: p.double(),
    at: p.datetime(),
    /** Hot since it crossed the threshold, until it is found far enough below. */
    isHot: p.boolean(),
  },
})
export class LeadScore extends LeadScoreSchema.class {}
LeadScoreSchema.setClass(LeadScore)
