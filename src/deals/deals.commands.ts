import type { Command } from 'commander'
import {
  type Cli,
  type CommandSet,
  type Confirmation,
  type Context,
  changing,
  confirmed,
  examples,
  paged,
} from '../cli/command.ts'
import type { Column } from '../cli/output.ts'
import type { PageFlags, PageRequest } from '../lib/page-request.ts'
import { Problem } from '../lib/problem.ts'
import { addBoard } from './board.commands.ts'
import { addMove } from './deals.move.commands.ts'
import type { Deal, DealMoveView } from './deals.ts'

const dealColumns: Column<Deal>[] = [
  ['ID', (deal) => deal.id],
  ['TITLE', (deal) => deal.title],
  ['VALUE', (deal) => ({ amount: deal.value, currency: deal.currency })],
  ['CURRENCY', (deal) => deal.currency, 'pipe'],
  ['STAGE', (deal) => deal.stage],
  ['STATUS', (deal) => deal.status],
  ['EMAIL', (deal) => deal.email],
]

interface FilterFlags {
  pipeline?: string
  stage?: string
  status?: string
  email?: string
}

const historyOf = async ({ work }: Context, id: string) => {
  const { dealHistory, listPipelines } = await import('./deals.ts')
  const [history, pipelines] = await work(async (w) => [await dealHistory(w, id), await listPipelines(w)] as const)
  const names = new Map(pipelines.flatMap(({ stages }) => stages.map((stage) => [stage.id, stage.name])))
  // A deleted stage is shown by its id.
  return { history, nameOf: (stageId: string | null) => stageId && (names.get(stageId) ?? stageId) }
}

const addReads = (noun: Command, cli: Cli): void => {
  paged(
    noun
      .command('list', { isDefault: true })
      .description('List deals, newest first')
      .addHelpText(
        'after',
        examples('svc deals --stage Proposal', 'svc deals list --status open --email ada@example.com --json'),
      )
      .option('--pipeline <id|name>', 'only deals in this pipeline')
      .option('--stage <id|name>', 'only deals in this stage')
      .option('--status <status>', 'open, won or lost')
      .option('--email <email>', 'only deals of this address'),
  ).action(
    cli.run(async ({ pages, work }, flags: PageFlags & FilterFlags) => {
      const [{ findPipeline, findStage, listDeals, StageKind }, { normalizeEmail }, { parse }, { z }] =
        await Promise.all([import('./deals.ts'), import('../lib/email.ts'), import('../lib/parse.ts'), import('zod')])
      const { status } = parse(z.object({ status: StageKind.optional() }), { status: flags.status })
      const email = flags.email && normalizeEmail(flags.email)
      const load = (page: PageRequest) =>
        work(async (w) => {
          const pipelineId = flags.pipeline && (await findPipeline(w, flags.pipeline)).id
          const stageId = flags.stage && (await findStage(w, flags.stage, pipelineId)).id
          return listDeals(w, { pipelineId, stageId, status, email }, page)
        })
      await pages('deals', flags, load, dealColumns)
    }),
  )

  noun
    .command('show')
    .description('Show a deal; on a terminal with its history')
    .addHelpText(
      'after',
      examples(
        'svc deals show deal_01m82xtnhcwm3m04tqw9cdt49w',
        'svc deals show deal_01m82xtnhcwm3m04tqw9cdt49w --json',
      ),
    )
    .argument('<id>')
    .action(
      cli.run(async (context, id: string) => {
        const { out, work } = context
        const { showDeal } = await import('./deals.ts')
        const deal = await work((w) => showDeal(w, id))
        if (out.format !== 'table' || out.fields) return out.one(deal)
        const { history, nameOf } = await historyOf(context, id)
        const moves = history.map(({ at, actor, from, to }) => ({ at, actor, from: nameOf(from), to: nameOf(to) }))
        out.one(await out.named({ ...deal, history: moves }))
      }),
    )

  noun
    .command('history')
    .description('Show the moves of a deal with their actors, oldest first')
    .addHelpText(
      'after',
      examples(
        'svc deals history deal_01m82xtnhcwm3m04tqw9cdt49w',
        'svc deals history deal_01m82xtnhcwm3m04tqw9cdt49w --json',
      ),
    )
    .argument('<id>')
    .action(
      cli.run(async (context, id: string) => {
        const { history, nameOf } = await historyOf(context, id)
        const columns: Column<DealMoveView>[] = [
          ['AT', (move) => new Date(move.at)],
          ['ACTOR', (move) => move.actor],
          ['FROM', (move) => nameOf(move.from)],
          ['TO', (move) => nameOf(move.to)],
        ]
        await context.out.list('history', history, columns, null, { id: ({ to }) => to })
      }),
    )
}

interface WriteFlags {
  title?: string
  value?: string
  currency?: string
  stage?: string
}

interface CreateFlags extends WriteFlags {
  email?: string
  list?: string
  row?: string
  pipeline?: string
}

const addCreate = (noun: Command, cli: Cli): void => {
  noun
    .command('create')
    .description('Create a deal on a contact')
    .addHelpText(
      'after',
      examples(
        'svc deals create --title "Annual plan" --email ada@example.com --value 1250.50 --currency EUR',
        'svc deals create --title Renewal --email ada@example.com --stage Proposal',
      ),
    )
    .option('--title <title>', 'the title of the deal')
    .option('--email <email>', 'the contact, in the list where it was changed last')
    .option('--list <id|name>', 'the contact’s list')
    .option('--row <id>', 'the contact’s rowId in --list, instead of --email')
    .option('--value <amount>', 'such as 1250.50')
    .option('--currency <code>', 'three letters (default: USD)')
    .option('--pipeline <id|name>', 'the pipeline (default: that of --stage, else the default one)')
    .option('--stage <id|name>', 'the stage (default: the first open one)')
    .action(
      cli.run(async ({ out, require, work }, flags: CreateFlags) => {
        const isByRow = flags.list !== undefined && flags.row !== undefined
        const { title } = await require(flags, 'title', ...(isByRow ? [] : ['email' as const]))
        const [{ createDeal, findPipeline, findStage, NewDeal }, { findList }, { parse }] = await Promise.all([
          import('./deals.ts'),
          import('../contacts/contacts.ts'),
          import('../lib/parse.ts'),
        ])
        const { email, value, currency } = flags
        const { deal } = await work(async (w) => {
          const pipelineId = flags.pipeline && (await findPipeline(w, flags.pipeline)).id
          const stageId = flags.stage && (await findStage(w, flags.stage, pipelineId)).id
          const listId = flags.list && (await findList(w, flags.list)).id
          const input = parse(NewDeal, { title, email, listId, rowId: flags.row, value, currency, pipelineId, stageId })
          return createDeal(w, input, { source: 'manual' })
        })
        out.one(await out.named(deal))
      }),
    )
}

const addUpdate = (noun: Command, cli: Cli): void => {
  changing(
    noun
      .command('update')
      .description('Update a deal, or move it to another stage')
      .addHelpText(
        'after',
        examples(
          'svc deals update deal_01m82xtnhcwm3m04tqw9cdt49w --value 900',
          'svc deals update deal_01m82xtnhcwm3m04tqw9cdt49w --title "Annual plan" --stage Proposal --dry-run',
        ),
      )
      .argument('<id>')
      .option('--title <title>', 'the title of the deal')
      .option('--value <amount>', 'such as 1250.50')
      .option('--currency <code>', 'three letters')
      .option('--stage <id|name>', 'move it to this stage of its pipeline'),
  ).action(
    cli.run(async ({ out, work }, id: string, flags: WriteFlags) => {
      const { title, value, currency, stage } = flags
      if ([title, value, currency, stage].every((flag) => flag === undefined)) {
        throw new Problem('usage', 'Give at least one of --title, --value, --currency, --stage')
      }
      const [{ changeDeal, DealChange, findStage, showDeal }, { parse }] = await Promise.all([
        import('./deals.ts'),
        import('../lib/parse.ts'),
      ])
      const { deal } = await work(async (w) => {
        const { pipelineId } = await showDeal(w, id)
        const stageId = stage && (await findStage(w, stage, pipelineId)).id
        return changeDeal(w, id, parse(DealChange, { title, value, currency, stageId }))
      })
      out.one(await out.named(deal))
    }),
  )
}

const addDelete = (noun: Command, cli: Cli): void => {
  confirmed(
    noun
      .command('delete')
      .description('Delete a deal with its history; no event fires')
      .addHelpText(
        'after',
        examples(
          'svc deals delete deal_01m82xtnhcwm3m04tqw9cdt49w --dry-run',
          'svc deals delete deal_01m82xtnhcwm3m04tqw9cdt49w --yes',
        ),
      )
      .argument('<id>'),
    'show what would be deleted',
  ).action(
    cli.run(async ({ out, work, confirm }, id: string, flags: Confirmation) => {
      const { deleteDeal, showDeal } = await import('./deals.ts')
      const { title, stage, email } = await work((w) => showDeal(w, id))
      const what = `delete the deal ${title} (${email}, ${stage}) with its history; no event fires`
      if (!(await confirm(what, flags, { id, title, email, stage }))) return
      await work((w) => deleteDeal(w, id))
      out.one({ id, title })
    }),
  )
}

/** `svc deals` */
export const commands: CommandSet = (cli) => {
  const noun = cli.noun('deals')
  addReads(noun, cli)
  addBoard(noun, cli)
  addCreate(noun, cli)
  addMove(noun, cli)
  addUpdate(noun, cli)
  addDelete(noun, cli)
}
