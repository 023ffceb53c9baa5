import { z } from 'zod'
import { type OpenCall, ok, openRoute } from '../../http/route.ts'
import { notFound } from '../../lib/problem.ts'
import { idText } from '../../lib/text.ts'
import type { App } from '../../store/work.ts'
import { findViewableByToken, type SentMail } from '../engagement.sent.ts'
import type { BlockKind } from '../interactions/interactions.ts'
import { answerBlock, showLiveView } from './view.ts'

const Token = z.object({ token: z.string() })

const Fields = z.record(z.string(), z.unknown())
const View = z
  .object({
    project: z.object({ id: z.string(), name: z.string() }),
    theme: Fields,
    blocks: z.array(Fields),
    recipient: z.object({ id: z.string(), fields: z.record(z.string(), z.string()) }),
    state: z.record(
      z.string(),
      z.object({ kind: z.string(), value: z.unknown(), answeredAt: z.int().meta({ description: 'epoch ms' }) }),
    ),
    createdAt: z.int().meta({ description: 'epoch ms' }),
  })
  .meta({ id: 'LiveView' })

const Answer = z
  .object({ blockId: idText(), value: z.unknown() })
  .meta({ examples: [{ blockId: 'rate-us', value: 4 }] })

const noView = () => notFound('There is no such live view')

const authorize = ({ app, params }: { app: App; params: { token: string } }): void => {
  if (!app.tokens.read('liveview', params.token, app.now().getTime())) throw noView()
}

const sentOf = async ({ app, params }: OpenCall<{ token: string }, unknown, unknown>): Promise<SentMail> => {
  const sent = await findViewableByToken(app, params.token)
  if (!sent) throw noView()
  return sent
}

const headers = { 'cache-control': 'private, no-store' }

/** The live view as JSON (docs/reference/api.md#live-view); `kinds` are the interactive blocks of all features. */
export const routesOf = (kinds: readonly BlockKind[]) => [
  openRoute({
    method: 'GET',
    path: '/liveview/:token',
    summary: 'Get a sent email as its recipient sees it: blocks, theme and answers',
    params: Token,
    authorize,
    answers: { 200: View },
    refusals: [404],
    handle: async (call) => ({ ...ok(await showLiveView(call.app, await sentOf(call), kinds)), headers }),
  }),
  openRoute({
    method: 'POST',
    path: '/liveview/:token/interactions',
    summary: 'Answer a block of a sent email',
    params: Token,
    authorize,
    body: Answer,
    answers: { 200: z.object({ ok: z.literal(true), duplicate: z.boolean(), redirectUrl: z.string().optional() }) },
    refusals: [400, 404, 409, 502],
    handle: async (call) => {
      const { blockId, value } = call.body
      const answered = await answerBlock(call.app, await sentOf(call), kinds, { blockId, value })
      return { ...ok({ ok: true, ...answered }), headers }
    },
  }),
]
