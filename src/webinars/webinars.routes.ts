import { z } from 'zod'
import { made, ok, route } from '../http/route.ts'
import { text } from '../lib/text.ts'
import {
  createWebinar,
  demandLive,
  listWebinars,
  NewWebinar,
  RegistrationBody,
  RegistrationResult,
  registerTogether,
  WebinarBody,
  WebinarShape,
} from './webinars.ts'

const list = route({
  method: 'GET',
  path: '/webinars',
  summary: 'The sessions that take registrations, newest first',
  quota: 'embedApi',
  answers: { 200: z.object({ webinars: z.array(WebinarShape) }) },
  refusals: [403],
  handle: async ({ work }) => ok({ webinars: await work((w) => listWebinars(w, { accessMode: 'registration' })) }),
})

const create = route({
  method: 'POST',
  path: '/webinars',
  summary: 'Schedule a session that takes registrations',
  quota: 'embedApi',
  body: WebinarBody.meta({ examples: [{ title: 'Spring launch', scheduledAt: 1_800_000_000_000, capacity: 100 }] }),
  answers: { 201: z.object({ webinar: WebinarShape }) },
  refusals: [403, 404],
  // What the plan does not have is said before the body is looked at; the course gate needs the body.
  replay: async ({ app, caller: { accountId } }) => {
    await demandLive({ sql: app.sql, accountId, now: app.now() }, { withCourse: false })
    return null
  },
  handle: async ({ body, work }) => {
    const webinar = NewWebinar.parse(body)
    return made({ webinar: await work((w) => createWebinar(w, webinar)) })
  },
})

const register = route({
  method: 'POST',
  path: '/webinars/:id/register',
  summary: 'Register somebody: with a seat, or past the capacity on the waitlist',
  quota: 'embedApi',
  params: z.object({ id: text(500) }),
  body: RegistrationBody,
  answers: { 200: RegistrationResult },
  refusals: [403, 404, 409],
  // It counts its calls itself: those that come at once share a unit of work.
  handle: async ({ app, caller: { accountId, keyId }, params, body }) =>
    ok(await registerTogether(app, accountId, `key:${keyId}`, params.id, body)),
})

export const routes = [list, create, register]
