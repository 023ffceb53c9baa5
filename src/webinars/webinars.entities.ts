import { defineEntity, p } from '@mikro-orm/postgresql'

/** Its counts are kept by the transactions that change its registrations, which hold its lock. */
const WebinarSchema = defineEntity({
  name: 'Webinar',
  tableName: 'webinars',
  properties: {
    accountId: p.text().collation('C').primary(),
    id: p.text().collation('C').primary(),
    title: p.text(),
    accessMode: p.enum(['registration', 'subscribers'] as const),
    status: p.enum(['scheduled', 'live', 'ended', 'cancelled'] as const),
    scheduledAt: p.datetime().nullable(),
    startedAt: p.datetime().nullable(),
    endedAt: p.datetime().nullable(),
    courseId: p.text().collation('C').nullable(),
    /** null: everybody gets a seat. */
    capacity: p.integer().nullable(),
    /** Where the join page sends who has a seat once it is live. */
    streamUrl: p.text().nullable(),
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

/** A registration that was cancelled stays as it is: who registers anew gets another one, so that old links open nothing of it. */
const WebinarRegistrationSchema = defineEntity({
  name: 'WebinarRegistration',
  tableName: 'webinar_registrations',
  indexes: [
    {
      // An erased person has no address, and is kept out.
      name: 'webinar_registrations_email_index',
      expression: `create unique index "webinar_registrations_email_index" on "webinar_registrations" ("account_id", "webinar_id", "email") where "status" <> 'cancelled' and "email" <> ''`,
    },
    {
      name: 'webinar_registrations_waiting_index',
      expression: `create index "webinar_registrations_waiting_index" on "webinar_registrations" ("account_id", "webinar_id", "number") where "status" = 'waitlisted'`,
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
    /** Counted from 1 under the webinar's lock: the place in the line. */
    number: p.integer(),
    /** When the next reminder is due; null: none comes any more. */
    remindAt: p.datetime().nullable(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
  },
})
export class WebinarRegistration extends WebinarRegistrationSchema.class {}
WebinarRegistrationSchema.setClass(WebinarRegistration)
