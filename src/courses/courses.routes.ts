import { z } from 'zod'
import { ok, route } from '../http/route.ts'
import { text } from '../lib/text.ts'
import { EnrolmentBody, EnrolmentResult, enrolMember, MemberEmail, mintPortalUrl } from './courses.ts'

const params = z.object({ id: text(500) })

const enroll = route({
  method: 'POST',
  path: '/courses/:id/enroll',
  summary: "Give an address a course's key to the membership, or take it away",
  quota: 'embedApi',
  params,
  body: EnrolmentBody,
  answers: { 200: EnrolmentResult },
  refusals: [403, 404],
  handle: async ({ app, params: { id }, body, work }) => ok(await work((w) => enrolMember(app, w, id, body))),
})

const embedToken = route({
  method: 'POST',
  path: '/courses/:id/embed-token',
  summary: 'A portal URL, valid 5 minutes, that signs an entitled member in',
  quota: 'embedApi',
  params,
  body: z.object({ email: MemberEmail }).meta({ examples: [{ email: 'ada.okafor@northwind.example' }] }),
  answers: { 200: z.object({ portalUrl: z.url() }) },
  refusals: [403, 404, 409],
  handle: async ({ app, params: { id }, body: { email }, work }) =>
    ok({ portalUrl: await work((w) => mintPortalUrl(app, w, id, email)) }),
})

export const routes = [enroll, embedToken]
