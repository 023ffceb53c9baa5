import { defineEntity, p } from '@mikro-orm/postgresql'
import { tenantFilter } from '../store/tenant.ts'

/** What recipients did with their emails. The primary key is what counts once; a changed answer updates its row. */
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
    /** The block that was answered, or that contains the link. It is empty if there is none. */
    blockId: p.text().collation('C').primary(),
    /** The number of the clicked link in the email. It is empty for other kinds. */
    link: p.text().collation('C').primary(),
    /** Caused by a machine: stored, but neither scored nor published as an event. */
    isBot: p.boolean().primary(),
    /** Changes with every answer that fires an event. */
    id: p.text().collation('C'),
    projectId: p.text().collation('C'),
    email: p.text().collation('C'),
    /** The value of a form is null if its text was dropped (`dropTexts`). */
    value: p.json<unknown>().nullable(),
    at: p.datetime(),
    /** How often the answer was replaced by another one. */
    changes: p.integer().default(0),
  },
})
export class Interaction extends InteractionSchema.class {}
InteractionSchema.setClass(Interaction)

/** The lead score of an address: its points at the time `at`, from which they decay. */
const LeadScoreSchema = defineEntity({
  name: 'LeadScore',
  tableName: 'lead_scores',
  filters: tenantFilter,
  properties: {
    accountId: p.text().collation('C').primary(),
    email: p.text().collation('C').primary(),
    points: p.double(),
    at: p.datetime(),
    /** It is set when the score crosses the threshold, and reset when a change finds the score below the lower threshold. */
    isHot: p.boolean(),
  },
})
export class LeadScore extends LeadScoreSchema.class {}
LeadScoreSchema.setClass(LeadScore)
