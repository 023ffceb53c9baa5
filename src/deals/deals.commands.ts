import type { Context } from '../cli/command.ts'
import { type CommandList, command } from '../cli/define.ts'
import { argument, changing, confirmed, paged, text } from '../cli/flags.ts'
import { parse } from '../cli/input.ts'
import { type Column, properties } from '../cli/output.ts'
import type { PageRequest } from '../lib/page-request.ts'
import { Problem } from '../lib/problem.ts'
import { boardCommand } from './board.commands.ts'
import { moveCommand } from './deals.move.commands.ts'
import type { Deal, DealMoveView } from './deals.ts'

const dealColumns: Column<Deal>[] = [
  ...properties<Deal>('id', 'title'),
  ['VALUE', (deal) => ({ amount: deal.value, currency: deal.currency })],
  ['CURRENCY', (deal) => deal.currency, 'pipe'],
  ...properties<Deal>('stage', 'status', 'email'),
]

const historyOf = async ({ work }: Context, id: string) => {
  const { dealHistory, listPipelines } = await import('./deals.ts')
  const [history, pipelines] = await work(async (w) => [await dealHistory(w, id), await listPipelines(w)] as const)
  const names = new Map(pipelines.flatMap(({ stages }) => stages.map((stage) => [stage.id, stage.name])))
  // A deleted stage is shown by its id.
  return { history, nameOf: (stageId: string | null) => stageId && (names.get(stageId) ?? stageId) }
}

/** Returns the id of what a flag names; undefined without the flag. */
const idOf = async (ref: string | undefined, find: (ref: string) => Promise<{ id: string }>) =>
  ref === undefined ? undefined : (await find(ref)).id

/** The commands `svc deals`. */
export const commands: CommandList = [
  command({
    path: 'deals list',
    isDefault: true,
    summary: 'List deals, newest first',
    examples: ['svc deals --stage Proposal', 'svc deals list --status open --email ada@example.com --json'],
    flags: {
      pipeline: text('<id|name>', 'only deals in this pipeline'),
      stage: text('<id|name>', 'only deals in this stage'),
      status: text('<status>', 'open, won or lost', { of: async () => (await import('./deals.shapes.ts')).stageKinds }),
      email: text('<email>', 'only deals of this address'),
      ...paged,
    },
    run: async ({ pages, work }, flags) => {
      const { findPipeline, findStage, listDeals, StageKind } = await import('./deals.ts')
      const { normalizeEmail } = await import('../lib/email.ts')
      const status = await parse(StageKind.optional(), flags.status, 'status')
      const email = flags.email && normalizeEmail(flags.email)
      const load = (page: PageRequest) =>
        work(async (w) => {
          const pipelineId = await idOf(flags.pipeline, (ref) => findPipeline(w, ref))
          const stageId = await idOf(flags.stage, (ref) => findStage(w, ref, pipelineId))
          return listDeals(w, { pipelineId, stageId, status, email }, page)
        })
      await pages('deals', flags, load, dealColumns)
    },
  }),

  command({
    path: 'deals show',
    summary: 'Show a deal; on a terminal with its history',
    examples: [
      'svc deals show deal_01m82xtnhcwm3m04tqw9cdt49w',
      'svc deals show deal_01m82xtnhcwm3m04tqw9cdt49w --json',
    ],
    arguments: [argument('<id>')],
    run: async (context, id) => {
      const { out, work } = context
      const { showDeal } = await import('./deals.ts')
      const deal = await work((w) => showDeal(w, id))
      if (out.format !== 'table' || out.fields) return out.one(deal)
      const { history, nameOf } = await historyOf(context, id)
      const moves = history.map(({ at, actor, from, to }) => ({ at, actor, from: nameOf(from), to: nameOf(to) }))
      out.one(await out.named({ ...deal, history: moves }))
    },
  }),

  command({
    path: 'deals history',
    summary: 'Show the moves of a deal with their actors, oldest first',
    examples: [
      'svc deals history deal_01m82xtnhcwm3m04tqw9cdt49w',
      'svc deals history deal_01m82xtnhcwm3m04tqw9cdt49w --json',
    ],
    arguments: [argument('<id>')],
    run: async (context, id) => {
      const { history, nameOf } = await historyOf(context, id)
      const columns: Column<DealMoveView>[] = [
        ...properties<DealMoveView>('at', 'actor'),
        ['FROM', (move) => nameOf(move.from)],
        ['TO', (move) => nameOf(move.to)],
      ]
      await context.out.list('history', history, columns, null, { id: ({ to }) => to })
    },
  }),

  boardCommand,

  command({
    path: 'deals create',
    summary: 'Create a deal on a contact',
    examples: [
      'svc deals create --title "Annual plan" --email ada@example.com --value 1250.50 --currency EUR',
      'svc deals create --title Renewal --email ada@example.com --stage Proposal',
    ],
    flags: {
      title: text('<title>', 'the title of the deal'),
      email: text('<email>', 'address of the contact; of several lists, the most recently updated one is used'),
      list: text('<id|name>', 'the contact’s list'),
      row: text('<id>', 'the contact’s rowId in --list, instead of --email', { noun: 'rows' }),
      value: text('<amount>', 'such as 1250.50'),
      currency: text('<code>', 'three letters (default: USD)'),
      pipeline: text('<id|name>', 'the pipeline (default: that of --stage, else the default one)'),
      stage: text('<id|name>', 'the stage (default: the first open one)'),
    },
    run: async ({ out, require, work }, flags) => {
      const isByRow = flags.list !== undefined && flags.row !== undefined
      const { title } = await require(flags, 'title', ...(isByRow ? [] : ['email' as const]))
      const { createDeal, findPipeline, findStage, NewDeal } = await import('./deals.ts')
      const { findList } = await import('../contacts/contacts.ts')
      const { email, value, currency } = flags
      const { deal } = await work(async (w) => {
        const pipelineId = await idOf(flags.pipeline, (ref) => findPipeline(w, ref))
        const stageId = await idOf(flags.stage, (ref) => findStage(w, ref, pipelineId))
        const listId = await idOf(flags.list, (ref) => findList(w, ref))
        const input = await parse(NewDeal, {
          title,
          email,
          listId,
          rowId: flags.row,
          value,
          currency,
          pipelineId,
          stageId,
        })
        return createDeal(w, input, { source: 'manual' })
      })
      out.one(await out.named(deal))
    },
  }),

  moveCommand,

  command({
    path: 'deals update',
    summary: 'Update a deal, or move it to another stage',
    examples: [
      'svc deals update deal_01m82xtnhcwm3m04tqw9cdt49w --value 900',
      'svc deals update deal_01m82xtnhcwm3m04tqw9cdt49w --title "Annual plan" --stage Proposal --dry-run',
    ],
    arguments: [argument('<id>')],
    flags: {
      title: text('<title>', 'the title of the deal'),
      value: text('<amount>', 'such as 1250.50'),
      currency: text('<code>', 'three letters'),
      stage: text('<id|name>', 'move it to this stage of its pipeline'),
      ...changing(),
    },
    run: async ({ out, work }, id, flags) => {
      const { title, value, currency, stage } = flags
      if ([title, value, currency, stage].every((flag) => flag === undefined)) {
        throw new Problem('usage', 'Give at least one of --title, --value, --currency, --stage')
      }
      const { changeDeal, DealChange, findStage, showDeal } = await import('./deals.ts')
      const { deal } = await work(async (w) => {
        const { pipelineId } = await showDeal(w, id)
        const stageId = await idOf(stage, (ref) => findStage(w, ref, pipelineId))
        return changeDeal(w, id, await parse(DealChange, { title, value, currency, stageId }))
      })
      out.one(await out.named(deal))
    },
  }),

  command({
    path: 'deals delete',
    summary: 'Delete a deal with its history; no event fires',
    examples: [
      'svc deals delete deal_01m82xtnhcwm3m04tqw9cdt49w --dry-run',
      'svc deals delete deal_01m82xtnhcwm3m04tqw9cdt49w --yes',
    ],
    arguments: [argument('<id>')],
    flags: confirmed('show what would be deleted'),
    run: async ({ out, work, confirm }, id, flags) => {
      const { deleteDeal, showDeal } = await import('./deals.ts')
      const { title, stage, email } = await work((w) => showDeal(w, id))
      const what = `delete the deal ${title} (${email}, ${stage}) with its history; no event fires`
      if (!(await confirm(what, flags, { id, title, email, stage }))) return
      await work((w) => deleteDeal(w, id))
      out.one({ id, title })
    },
  }),
]
