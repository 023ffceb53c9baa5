// Generated from webinars.entities.ts by `npm run columns`: do not edit.
import { typed } from '../store/column-types.ts'
import { table } from '../store/tables.ts'
import type * as entities from './webinars.entities.ts'

export const webinars = table('webinars', {
  accountId: 'text',
  id: 'text',
  title: 'text',
  accessMode: typed<entities.Webinar['accessMode']>('text'),
  status: typed<entities.Webinar['status']>('text'),
  scheduledAt: 'timestamptz?',
  durationMinutes: 'int4',
  timezone: 'text?',
  description: 'text',
  startedAt: 'timestamptz?',
  endedAt: 'timestamptz?',
  courseId: 'text?',
  capacity: 'int4?',
  streamUrl: 'text?',
  replayUrl: 'text?',
  cover: 'bytea?',
  coverType: 'text?',
  coverHash: 'text?',
  coverWidth: 'int4?',
  coverHeight: 'int4?',
  sequence: 'int4',
  registeredCount: 'int4',
  waitlistedCount: 'int4',
  lastNumber: 'int4',
  createdAt: 'timestamptz',
  updatedAt: 'timestamptz',
})

export const webinarRegistrations = table('webinar_registrations', {
  accountId: 'text',
  id: 'text',
  webinarId: 'text',
  email: 'text',
  name: 'text',
  status: typed<entities.WebinarRegistration['status']>('text'),
  number: 'int4',
  remindAt: 'timestamptz?',
  seen: 'tstzmultirange?',
  attended: 'bool?',
  createdAt: 'timestamptz',
  updatedAt: 'timestamptz',
})
