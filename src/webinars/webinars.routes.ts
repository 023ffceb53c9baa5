import { z } from 'zod'
import { created, ok, route } from '../http/route.ts'
import { idText } from '../lib/text.ts'
import {
  createWebinar,
  listWebinars,
  NewWebinar,
  RegistrationBody,
  RegistrationResult,
  registerAttendee,
  requireLive,
  WebinarBody,
  WebinarShape,
} from './webinars.ts'

const list = route({
  name: 'listWebinars',
  method: 'GET',
  path: '/webinars',
  summary: 'List the webinars that take registrations, newest first',
  quota: 'embedApi',
  answers: { 200: z.object({ webinars: z.array(WebinarShape).describe('Newest first') }) },
  refusals: [403],
  handle: async ({ work }) => ok({ webinars: await work((w) => listWebinars(w, { accessMode: 'registration' })) }),
})

const create = route({
  name: 'createWebinar',
  method: 'POST',
  path: '/webinars',
  summary: 'Schedule a webinar that takes registrations',
  quota: 'embedApi',
  body: WebinarBody.meta({ examples: [{ title: 'Spring launch', scheduledAt: 1_800_000_000_000, capacity: 100 }] }),
  answers: { 201: z.object({ webinar: WebinarShape }) },
  refusals: [403, 404],
  // The quota is checked before the body is read; only the check of the course needs the body.
  replay: async ({ app, caller: { accountId } }) => {
    await requireLive({ sql: app.sql, accountId, now: app.now() }, { withCourse: false })
    return null
  },
  handle: async ({ body, work }) => {
    const webinar = NewWebinar.parse(body)
    return created({ webinar: await work((w) => createWebinar(w, webinar)) })
  },
})

const register = route({
  name: 'registerAttendee',
  method: 'POST',
  path: '/webinars/:id/register',
  summary: 'Register a person for a seat, or for the waitlist when the webinar is full',
  quota: 'embedApi',
  params: z.object({ id: idText().describe('Id of the webinar') }),
  body: RegistrationBody,
  answers: { 200: RegistrationResult },
  refusals: [403, 404, 409],
  // Not through `work`: concurrent calls share a unit of work, which counts the quota.
  handle: async ({ app, caller: { accountId, keyId }, params, body }) =>
    ok(await registerAttendee(app, accountId, `key:${keyId}`, params.id, body)),
})

export const routes = [list, create, register]
