import { z } from 'zod'
import { type OpenCall, ok, openRoute, type Route } from '../http/route.ts'
import { missing } from '../lib/problem.ts'
import { text } from '../lib/text.ts'
import type { BlockKind } from './engagement.blocks.ts'
import { type SentMail, shownOfToken } from './engagement.sent.ts'
import { answerBlock, showLiveView } from './liveview.ts'

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
  .object({ blockId: text(100), value: z.unknown() })
  .meta({ examples: [{ blockId: 'rate-us', value: 4 }] })

const sentOf = async ({ app, params }: OpenCall<{ token: string }, unknown, unknown>): Promise<SentMail> => {
  const sent = await shownOfToken(app, params.token)
  if (!sent) throw missing('There is no such live view')
  return sent
}

const headers = { 'cache-control': 'private, no-store' }

/** The live view, as a program reads it; `kinds` are the interactive blocks of all features. */
export const routesOf = (kinds: readonly BlockKind[]): readonly Route[] => [
  openRoute({
    method: 'GET',
    path: '/liveview/:token',
    summary: 'A sent mail as its recipient sees it now: the blocks, the theme and what was answered',
    params: Token,
    answers: { 200: View },
    refusals: [404],
    handle: async (call) => ({ ...ok(await showLiveView(call.app, await sentOf(call), kinds)), headers }),
  }),
  openRoute({
    method: 'POST',
    path: '/liveview/:token/interactions',
    summary: 'Answer a block of a sent mail',
    params: Token,
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
