import { z } from 'zod'
import { ok, route } from '../http/route.ts'
import { idText } from '../lib/text.ts'
import { EnrolmentBody, EnrolmentResult, enrolMember, MemberEmail, mintPortalUrl } from './courses.ts'

const params = z.object({ id: idText().describe('Id of the course') })

const enroll = route({
  name: 'enrollMember',
  method: 'POST',
  path: '/courses/:id/enroll',
  summary: 'Give an address access to a course and its membership, or revoke it',
  quota: 'embedApi',
  params,
  body: EnrolmentBody,
  answers: { 200: EnrolmentResult },
  refusals: [403, 404],
  handle: async ({ app, params: { id }, body, work }) => ok(await work((w) => enrolMember(app, w, id, body))),
})

const embedToken = route({
  name: 'createEmbedToken',
  method: 'POST',
  path: '/courses/:id/embed-token',
  summary: 'Create a portal URL that signs an entitled member in; it is valid for 5 minutes',
  quota: 'embedApi',
  params,
  body: z.object({ email: MemberEmail }).meta({ examples: [{ email: 'ada.okafor@northwind.example' }] }),
  answers: {
    200: z.object({
      portalUrl: z.url().describe('For an iframe or a window; it signs the member in and is valid for 5 minutes'),
    }),
  },
  refusals: [403, 404, 409],
  handle: async ({ app, params: { id }, body: { email }, work }) =>
    ok({ portalUrl: await work((w) => mintPortalUrl(app, w, id, email)) }),
})

export const routes = [enroll, embedToken]
