import { defineEntity, p } from '@mikro-orm/postgresql'
import { tenantFilter } from '../store/tenant.ts'

/** Transactions that change registrations lock the webinar and update its counts. */
const WebinarSchema = defineEntity({
  name: 'Webinar',
  tableName: 'webinars',
  filters: tenantFilter,
  properties: {
    accountId: p.text().collation('C').primary(),
    id: p.text().collation('C').primary(),
    title: p.text(),
    accessMode: p.enum(['registration', 'subscribers'] as const),
    status: p.enum(['scheduled', 'live', 'ended', 'cancelled'] as const),
    scheduledAt: p.datetime().nullable(),
    /** The planned duration: the end of the calendar entry. */
    durationMinutes: p.integer().default(60),
    /** The time zone of the times in emails and on pages. It is null for UTC. */
    timezone: p.text().nullable(),
    description: p.text().default(''),
    startedAt: p.datetime().nullable(),
    endedAt: p.datetime().nullable(),
    courseId: p.text().collation('C').nullable(),
    /** It is null if there is no limit. */
    capacity: p.integer().nullable(),
    /** The URL that the join page opens while the webinar is live. */
    streamUrl: p.text().nullable(),
    /** The URL of the recording, which the join page shows after the end. */
    replayUrl: p.text().nullable(),
    /** The picture on its pages. It is null if they draw one. */
    cover: p.blob().nullable(),
    coverType: p.text().nullable(),
    /** The beginning of its SHA-256, for its URL. */
    coverHash: p.text().nullable(),
    /** The width of the cover in pixels. It is null if its header has no size. */
    coverWidth: p.integer().nullable(),
    coverHeight: p.integer().nullable(),
    /** The SEQUENCE of its calendar entry: grows when it moves or is cancelled, and when a seat is cancelled. */
    sequence: p.integer().default(0),
    registeredCount: p.integer(),
    waitlistedCount: p.integer(),
    /** The number of the newest registration. */
    lastNumber: p.integer(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
  },
})
export class Webinar extends WebinarSchema.class {}
WebinarSchema.setClass(Webinar)

/** A cancelled registration stays. Registering again creates a new one, which old links don't open. */
const WebinarRegistrationSchema = defineEntity({
  name: 'WebinarRegistration',
  tableName: 'webinar_registrations',
  filters: tenantFilter,
  indexes: [
    {
      // Registrations of erased persons have no address.
      name: 'webinar_registrations_email_index',
      expression: `create unique index "webinar_registrations_email_index" on "webinar_registrations" ("account_id", "webinar_id", "email") where "status" <> 'cancelled' and "email" <> ''`,
    },
    {
      name: 'webinar_registrations_waiting_index',
      expression: `create index "webinar_registrations_waiting_index" on "webinar_registrations" ("account_id", "webinar_id", "number") where "status" = 'waitlisted'`,
    },
    {
      name: 'webinar_registrations_due_index',
      expression: `create index "webinar_registrations_due_index" on "webinar_registrations" ("account_id", "remind_at") where "remind_at" is not null`,
    },
    {
      name: 'webinar_registrations_remind_index',
      expression: `create index "webinar_registrations_remind_index" on "webinar_registrations" ("remind_at", "account_id", "webinar_id") where "remind_at" is not null`,
    },
    { name: 'webinar_registrations_person_index', properties: ['accountId', 'email'] },
    { name: 'webinar_registrations_number_index', properties: ['accountId', 'webinarId', 'number'] },
  ],
  properties: {
    accountId: p.text().collation('C').primary(),
    id: p.text().collation('C').primary(),
    webinarId: p.text().collation('C'),
    email: p.text().collation('C'),
    name: p.text(),
    status: p.enum(['confirmed', 'waitlisted', 'cancelled'] as const),
    /** The position in the order of registrations, from 1. It is assigned under the webinar's lock. */
    number: p.integer(),
    /** When the next reminder is due, or after the end the decision who attended. It is null if neither is due. */
    remindAt: p.datetime().nullable(),
    /** When the join page reported presence: the two minutes from each report that counts. It is null if there was no report. */
    seen: p.string().columnType('tstzmultirange').nullable(),
    /** Whether the person attended. It is null until that is decided after the end; later reports do not count. */
    attended: p.boolean().nullable(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
  },
})
export class WebinarRegistration extends WebinarRegistrationSchema.class {}
WebinarRegistrationSchema.setClass(WebinarRegistration)
