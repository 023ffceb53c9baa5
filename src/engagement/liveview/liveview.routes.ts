import { z } from 'zod'
import { type OpenCall, ok, openRoute } from '../../http/route.ts'
import { epochMs } from '../../lib/common-shapes.ts'
import { idText } from '../../lib/text.ts'
import type { App } from '../../store/work.ts'
import { noView } from '../engagement.recipient.ts'
import { findViewableByToken, type SentMail } from '../engagement.sent.ts'
import type { BlockKind } from '../interactions/blocks.ts'
import { answerBlock, showLiveView } from './view.ts'

const Token = z.object({ token: z.string().describe('The signed token of a link to the live view') })

const Fields = z.record(z.string(), z.unknown())
const View = z
  .object({
    project: z
      .object({ id: z.string().describe('Id of the project'), name: z.string().describe('Name of the project') })
      .describe('The project of the email'),
    theme: Fields.describe('Colours, fonts and logo of the project'),
    blocks: z
      .array(Fields)
      .describe('The blocks in order, with their merge tags filled; booking blocks also have `slots`'),
    recipient: z
      .object({
        id: z.string().describe('Id of the email'),
        fields: z.record(z.string(), z.string()).describe('Merge data: field name to value'),
      })
      .describe('The recipient of the email'),
    state: z
      .record(
        z.string(),
        z.object({
          kind: z.string().describe('The kind of the answer, such as `vote`'),
          value: z.unknown().describe('The answer; its type depends on the kind'),
          answeredAt: epochMs('When it was given'),
        }),
      )
      .describe('Block id to the answer of the recipient'),
    createdAt: epochMs('When the email was created'),
  })
  .meta({ id: 'LiveView', description: 'A sent email as its recipient sees it' })

const Answer = z
  .object({
    blockId: idText().describe('Id of the block'),
    value: z.unknown().describe('The answer; its type depends on the block'),
  })
  .meta({ examples: [{ blockId: 'rate-us', value: 4 }] })

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
    name: 'getLiveView',
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
    name: 'answerBlock',
    method: 'POST',
    path: '/liveview/:token/interactions',
    summary: 'Answer a block of a sent email',
    params: Token,
    authorize,
    body: Answer,
    answers: {
      200: z.object({
        ok: z.literal(true).describe('The answer is stored'),
        duplicate: z.boolean().describe('Whether it repeats an earlier answer'),
        redirectUrl: z.string().optional().describe('Where to pay; only for checkout blocks'),
      }),
    },
    refusals: [400, 404, 409, 502],
    handle: async (call) => {
      const { blockId, value } = call.body
      const answered = await answerBlock(call.app, await sentOf(call), kinds, { blockId, value })
      return { ...ok({ ok: true, ...answered }), headers }
    },
  }),
]
