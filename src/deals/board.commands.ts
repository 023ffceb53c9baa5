import { command } from '../cli/define.ts'
import { present, text } from '../cli/flags.ts'
import { hasScreen } from '../cli/screen.ts'
import { pageRequest } from '../lib/page-request.ts'
import { drawBoard } from './board.draw.commands.ts'

/** The command `svc deals board`. */
export const boardCommand = command({
  path: 'deals board',
  summary: 'Show a pipeline as a board: m moves a deal, q quits. In a pipe: list its deals',
  examples: ['svc deals board', 'svc deals board --pipeline Sales --json'],
  flags: {
    pipeline: text('<id|name>', 'the pipeline (default: the default one)'),
    limit: text('<n>', 'newest deals to show of each stage, 1 to 1000', { default: '50' }),
    plain: present('print the board once, without the full-screen view'),
  },
  run: async (context, flags) => {
    const { out, work } = context
    const { boardOf, findPipeline } = await import('./deals.ts')
    const { limit } = pageRequest(flags)
    const load = () => work(async (w) => boardOf(w, await findPipeline(w, flags.pipeline), limit))
    if (out.format === 'table' && !flags.plain && hasScreen())
      return (await import('./board.screen.commands.ts')).showScreen(context, load)
    const board = await load()
    if (out.format === 'json') return out.one(board)
    if (out.format === 'table') return drawBoard(board, out.canvas.columns).forEach(out.line)
    await out.list(
      'deals',
      board.stages.flatMap(({ deals }) => deals),
      [
        ['STAGE', (deal) => deal.stage],
        ['ID', (deal) => deal.id],
        ['TITLE', (deal) => deal.title],
        ['VALUE', (deal) => deal.value],
        ['CURRENCY', (deal) => deal.currency],
        ['EMAIL', (deal) => deal.email],
      ],
    )
  },
})
