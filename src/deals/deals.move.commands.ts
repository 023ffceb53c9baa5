import type { Context } from '../cli/command.ts'
import { command } from '../cli/define.ts'
import { argument, needed, unasked } from '../cli/flags.ts'
import type { Column } from '../cli/output.ts'
import { Problem } from '../lib/problem.ts'
import type { Deal } from './deals.ts'

interface Moved {
  deal: Deal
  moved: boolean
  /** The name of the previous stage. */
  from: string | null
}

/** Moves a deal to a stage, by id or by name in the deal's pipeline. `dryRun` returns the result without the move. */
export const moveOne = async ({ work }: Context, id: string, to: string, dryRun: boolean): Promise<Moved> => {
  const { changeDeal, findStage, showDeal } = await import('./deals.ts')
  return work(async (w) => {
    const before = await showDeal(w, id)
    const { id: stageId, name, kind } = await findStage(w, to, before.pipelineId)
    const { deal, moved } = dryRun
      ? { deal: { ...before, stageId, stage: name, status: kind }, moved: stageId !== before.stageId }
      : await changeDeal(w, id, { stageId })
    return { deal, moved, from: before.stage }
  })
}

const columns: Column<Moved>[] = [
  ['ID', ({ deal }) => deal.id],
  ['TITLE', ({ deal }) => deal.title],
  ['FROM', ({ from }) => from],
  ['TO', ({ deal }) => deal.stage],
  ['STATUS', ({ deal }) => deal.status],
  ['RESULT', ({ moved }) => (moved ? 'moved' : 'unchanged')],
]

/** Moves each deal in its own transaction, so that a failure does not stop the others. */
const moveEach = async (context: Context, ids: readonly string[], to: string, dryRun: boolean) => {
  const done: Moved[] = []
  const failures: Problem[] = []
  for (const id of ids) {
    if (context.signal.aborted) break
    try {
      done.push(await moveOne(context, id, to, dryRun))
    } catch (error) {
      if (!(error instanceof Problem) || error.kind === 'unavailable') throw error
      failures.push(error)
    }
  }
  return { done, failures }
}

const report = async ({ out }: Context, { done, failures }: Awaited<ReturnType<typeof moveEach>>, dryRun: boolean) => {
  const moved = done.filter((one) => one.moved).length
  const counts = { moved, unchanged: done.length - moved, failed: failures.length }
  if (out.format === 'json') {
    const events = { 'deal.stage_changed': moved }
    out.one({ deals: done.map(({ deal }) => deal), ...counts, ...(dryRun && { dryRun, events }) })
    if (dryRun) out.note('Nothing was changed.')
    return
  }
  if (out.isText) await out.list('deals', done, columns)
  else
    await out.list(
      'deals',
      done.map(({ deal }) => deal),
      [],
    )
  const counted = `${dryRun ? 'Would move' : 'Moved'} ${counts.moved}, unchanged ${counts.unchanged}, failed ${counts.failed}`
  out.note(dryRun ? `${counted}; ${moved} deal.stage_changed would fire. Nothing was changed.` : `${counted}.`)
}

/** The command `svc deals move`. */
export const moveCommand = command({
  path: 'deals move',
  summary: 'Move deals to another stage of their pipeline',
  examples: [
    'svc deals move deal_01m82xtnhcwm3m04tqw9cdt49w --to Won',
    'svc deals list --stage New -q | xargs svc deals move --to Qualified --yes',
  ],
  arguments: [argument('<ids...>')],
  flags: {
    to: needed('<stage>', 'the stage: id, or its name in the deal’s pipeline'),
    ...unasked('show what would move and which events would fire'),
  },
  run: async (context, ids, { to, dryRun = false }) => {
    const result = await moveEach(context, [...new Set(ids)], to, dryRun)
    const [first] = result.failures
    if (first && result.done.length === 0) throw first
    await report(context, result, dryRun)
    for (const failure of result.failures) context.out.failure(failure.message, failure.detail.hint ?? 'svc deals list')
    if (first) context.exit(5)
  },
})
