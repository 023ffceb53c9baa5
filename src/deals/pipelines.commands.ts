import type { Command } from 'commander'
import { type Cli, type CommandSet, changing, confirmed, examples, gather } from '../cli/command.ts'
import type { Column, Output } from '../cli/output.ts'
import { shown as echoed, Problem } from '../lib/problem.ts'
import { number, quantity } from '../lib/quantity.ts'
import type { PipelineView, StageView } from './deals.ts'

const stagesText = (stages: readonly StageView[]) =>
  stages.map(({ name, kind }) => (kind === 'open' ? name : `${name} (${kind})`)).join(', ')

const pipelineColumns: Column<PipelineView>[] = [
  ['ID', (pipeline) => pipeline.id],
  ['NAME', (pipeline) => pipeline.name],
  ['DEFAULT', (pipeline) => (pipeline.isDefault ? 'yes' : 'no')],
  ['STAGES', (pipeline) => stagesText(pipeline.stages)],
]

const stageColumns: Column<StageView & { pipeline: string }>[] = [
  ['ID', (stage) => stage.id],
  ['NAME', (stage) => stage.name],
  ['KIND', (stage) => stage.kind],
  ['PIPELINE', (stage) => stage.pipeline],
]

const shown = (out: Output, pipeline: PipelineView) =>
  out.one(pipeline, { ...pipeline, stages: stagesText(pipeline.stages) })

const kindOf = async (text: string) => {
  const { StageKind, stageKinds } = await import('./deals.ts')
  const kind = StageKind.safeParse(text)
  if (!kind.success)
    throw new Problem('usage', `A stage's kind is one of ${stageKinds.join(', ')}, not ${echoed(text)}`)
  return kind.data
}

/** Parses `Lead:open`; without a kind the stage is open. */
const stageOf = async (given: string) => {
  const colon = given.lastIndexOf(':')
  if (colon < 0) return { name: given, kind: 'open' as const }
  return { name: given.slice(0, colon), kind: await kindOf(given.slice(colon + 1)) }
}

const addPipelines = (noun: Command, cli: Cli): void => {
  noun
    .command('list', { isDefault: true })
    .description('List the pipelines with their stages, the default pipeline first')
    .addHelpText('after', examples('svc pipelines', 'svc pipelines list --json'))
    .action(
      cli.run(async ({ out, work }) => {
        const { listPipelines } = await import('./deals.ts')
        await out.list('pipelines', await work(listPipelines), pipelineColumns)
      }),
    )

  noun
    .command('create')
    .description('Create a pipeline (default stages: New, Qualified, Proposal, Won, Lost)')
    .addHelpText(
      'after',
      examples(
        'svc pipelines create --name Renewals',
        'svc pipelines create --name Hiring --stage Applied:open --stage Hired:won --stage Rejected:lost',
      ),
    )
    .option('--name <name>', 'its name, unique in the account')
    .option('--stage <name:kind>', 'a stage in board order, such as Lead:open; kind is open, won or lost', gather, [])
    .action(
      cli.run(async ({ out, require, work }, flags: { name?: string; stage: string[] }) => {
        const { name } = await require(flags, 'name')
        const { createPipeline } = await import('./deals.ts')
        const stages = await Promise.all(flags.stage.map(stageOf))
        shown(out, await work((w) => createPipeline(w, { name, ...(stages.length > 0 && { stages }) })))
      }),
    )

  changing(
    noun
      .command('default')
      .description('Make a pipeline the default for new deals')
      .addHelpText('after', examples('svc pipelines default Renewals', 'svc pipelines default Renewals --dry-run'))
      .argument('<pipeline>', 'id or name'),
  ).action(
    cli.run(async ({ out, work }, ref: string) => {
      const { setDefaultPipeline } = await import('./deals.ts')
      shown(out, await work((w) => setDefaultPipeline(w, ref)))
    }),
  )
}

const addStageChanges = (noun: Command, cli: Cli): void => {
  noun
    .command('list', { isDefault: true })
    .description('List stages in board order')
    .addHelpText('after', examples('svc pipelines stages', 'svc pipelines stages list Sales --json'))
    .argument('[pipeline]', 'id or name (default: every pipeline)')
    .action(
      cli.run(async ({ out, work }, ref: string | undefined) => {
        const { findPipeline, listPipelines } = await import('./deals.ts')
        const pipelines = await work(async (w) => (ref === undefined ? listPipelines(w) : [await findPipeline(w, ref)]))
        const stages = pipelines.flatMap(({ name, stages }) => stages.map((stage) => ({ ...stage, pipeline: name })))
        await out.list('stages', stages, stageColumns)
      }),
    )

  changing(
    noun
      .command('add')
      .description('Add a stage at the end of a pipeline')
      .addHelpText(
        'after',
        examples(
          'svc pipelines stages add Sales --name Demo --kind open',
          'svc pipelines stages add Sales --name Ghosted --kind lost --json',
        ),
      )
      .argument('<pipeline>', 'id or name')
      .option('--name <name>', 'its name, unique in the pipeline')
      .option('--kind <kind>', 'open, won or lost', 'open'),
  ).action(
    cli.run(async ({ out, require, work }, ref: string, flags: { name?: string; kind: string }) => {
      const { name } = await require(flags, 'name')
      const { addStage } = await import('./deals.ts')
      const kind = await kindOf(flags.kind)
      shown(out, await work((w) => addStage(w, ref, { name, kind })))
    }),
  )

  changing(
    noun
      .command('reorder')
      .description('Reorder stages; stages that are not named keep their order at the end')
      .addHelpText(
        'after',
        examples(
          'svc pipelines stages reorder Sales New Demo Proposal',
          'svc pipelines stages reorder Sales Qualified New --dry-run',
        ),
      )
      .argument('<pipeline>', 'id or name')
      .argument('<stages...>', 'ids or names, first one first'),
  ).action(
    cli.run(async ({ out, work }, ref: string, stages: string[]) => {
      const { reorderStages } = await import('./deals.ts')
      shown(out, await work((w) => reorderStages(w, ref, stages)))
    }),
  )
}

const addOneStage = (noun: Command, cli: Cli): void => {
  const onStage = (name: string, summary: string) =>
    noun
      .command(name)
      .description(summary)
      .argument('<stage>', 'id, or an unambiguous name')
      .option('--pipeline <id|name>', 'the pipeline to search for the stage')

  changing(
    onStage('rename', 'Rename a stage')
      .addHelpText(
        'after',
        examples(
          'svc pipelines stages rename Proposal Offer',
          'svc pipelines stages rename Proposal Offer --pipeline Sales',
        ),
      )
      .argument('<name>'),
  ).action(
    cli.run(async ({ out, work }, ref: string, name: string, flags: { pipeline?: string }) => {
      const { findStage, renameStage } = await import('./deals.ts')
      shown(out, await work(async (w) => renameStage(w, await findStage(w, ref, flags.pipeline), name)))
    }),
  )

  onStage('set-kind', 'Change a stage’s kind, and with it the status of its deals; no event fires')
    .addHelpText(
      'after',
      examples(
        'svc pipelines stages set-kind Ghosted lost',
        'svc pipelines stages set-kind Ghosted lost --pipeline Sales --dry-run',
      ),
    )
    .argument('<kind>', 'open, won or lost')
    .option('--yes', 'accepted for scripts; this command never asks')
    .option('--dry-run', 'count the deals whose status would change')
    .action(
      cli.run(async (context, ref: string, given: string, flags: { pipeline?: string; dryRun?: boolean }) => {
        const { out, work, confirm } = context
        const { countDeals, findStage, setStageKind } = await import('./deals.ts')
        const kind = await kindOf(given)
        if (flags.dryRun) {
          const { id, name, kind: before } = await work((w) => findStage(w, ref, flags.pipeline))
          const deals = before === kind ? 0 : await work((w) => countDeals(w, id))
          await confirm(`make ${quantity(deals, 'deal')} in ${name} ${kind}; no event fires`, flags, {
            id,
            name,
            kind,
            deals,
          })
          return
        }
        const changed = await work(async (w) => setStageKind(w, await findStage(w, ref, flags.pipeline), kind))
        shown(out, changed.pipeline)
        out.note(`${quantity(changed.deals, 'deal is', 'deals are')} ${kind} now.`)
      }),
    )

  confirmed(
    onStage('delete', 'Delete a stage; its deals move to another stage, each with an event')
      .addHelpText(
        'after',
        examples(
          'svc pipelines stages delete Demo --move-deals-to Proposal --yes',
          'svc pipelines stages delete Demo --pipeline Sales --dry-run',
        ),
      )
      .option('--move-deals-to <stage>', 'the stage of the same pipeline that gets its deals: id or name'),
    'show what would change',
  ).action(
    cli.run(
      async (
        { out, work, confirm },
        ref: string,
        flags: { pipeline?: string; moveDealsTo?: string; yes?: boolean; dryRun?: boolean },
      ) => {
        const { countDeals, deleteStage, findStage } = await import('./deals.ts')
        const stage = await work((w) => findStage(w, ref, flags.pipeline))
        const deals = await work((w) => countDeals(w, stage.id))
        if (deals > 0 && flags.moveDealsTo === undefined) {
          throw new Problem('usage', `${stage.name} has ${quantity(deals, 'deal')}: --move-deals-to says where they go`)
        }
        const given = flags.moveDealsTo
        const to = given === undefined ? null : await work((w) => findStage(w, given, stage.pipeline.id))
        const moves =
          deals > 0 ? ` and move ${quantity(deals, 'deal')} to ${to!.name} (${number(deals)} deal.stage_changed)` : ''
        const { id, name, pipeline } = stage
        const planned = { id, name, moved: deals, events: { 'deal.stage_changed': deals } }
        if (!(await confirm(`delete the stage ${name} of ${pipeline.name}${moves}`, flags, planned))) return
        const { moved } = await work((w) => deleteStage(w, stage, to))
        out.one({ id, name, moved })
      },
    ),
  )
}

/** `svc pipelines` */
export const commands: CommandSet = (cli) => {
  const noun = cli.noun('pipelines')
  addPipelines(noun, cli)
  const stages = noun.command('stages').description('The stages of a pipeline')
  addStageChanges(stages, cli)
  addOneStage(stages, cli)
}
