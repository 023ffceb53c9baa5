import type { Command } from 'commander'
import { type Cli, type CommandSet, gather } from '../cli/command.ts'
import type { Column, Output } from '../cli/output.ts'
import { Problem } from '../lib/problem.ts'
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
  if (!kind.success) throw new Problem('usage', `A stage's kind is one of ${stageKinds.join(', ')}, not ${text}`)
  return kind.data
}

/** `Lead:open`; a name alone is open. */
const stageOf = async (given: string) => {
  const colon = given.lastIndexOf(':')
  if (colon < 0) return { name: given, kind: 'open' as const }
  return { name: given.slice(0, colon), kind: await kindOf(given.slice(colon + 1)) }
}

const addPipelines = (noun: Command, cli: Cli): void => {
  noun
    .command('list', { isDefault: true })
    .description('List the pipelines with their stages, the default one first')
    .action(
      cli.run(async ({ out, work }) => {
        const { listPipelines } = await import('./deals.ts')
        await out.list('pipelines', await work(listPipelines), pipelineColumns)
      }),
    )

  noun
    .command('create')
    .description('Create a pipeline; without --stage with New, Qualified, Proposal, Won and Lost')
    .option('--name <name>', 'its name, unique in the account')
    .option('--stage <name:kind>', 'a stage in board order, such as Lead:open; kind is open, won or lost', gather, [])
    .action(
      cli.run(async ({ out, require, work }, flags: { name?: string; stage: string[] }) => {
        const { name } = await require({ name: flags.name })
        const { createPipeline } = await import('./deals.ts')
        const stages = await Promise.all(flags.stage.map(stageOf))
        shown(out, await work((w) => createPipeline(w, { name, ...(stages.length > 0 && { stages }) })))
      }),
    )

  noun
    .command('default')
    .description('Make a pipeline the one that deals go to when they name none')
    .argument('<pipeline>', 'id or name')
    .action(
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
    .argument('[pipeline]', 'id or name; left out: of every pipeline')
    .action(
      cli.run(async ({ out, work }, ref: string | undefined) => {
        const { findPipeline, listPipelines } = await import('./deals.ts')
        const pipelines = await work(async (w) => (ref === undefined ? listPipelines(w) : [await findPipeline(w, ref)]))
        const stages = pipelines.flatMap(({ name, stages }) => stages.map((stage) => ({ ...stage, pipeline: name })))
        await out.list('stages', stages, stageColumns)
      }),
    )

  noun
    .command('add')
    .description('Add a stage at the end of a pipeline')
    .argument('<pipeline>', 'id or name')
    .option('--name <name>', 'its name, unique in the pipeline')
    .option('--kind <kind>', 'open, won or lost', 'open')
    .action(
      cli.run(async ({ out, require, work }, ref: string, flags: { name?: string; kind: string }) => {
        const { name } = await require({ name: flags.name })
        const { addStage } = await import('./deals.ts')
        const kind = await kindOf(flags.kind)
        shown(out, await work((w) => addStage(w, ref, { name, kind })))
      }),
    )

  noun
    .command('reorder')
    .description('Put stages into an order; those that are not named follow in theirs')
    .argument('<pipeline>', 'id or name')
    .argument('<stages...>', 'ids or names, first one first')
    .action(
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
      .argument('<stage>', 'id, or a name that only one stage has')
      .option('--pipeline <id|name>', 'where the stage is looked for')

  onStage('rename', 'Give a stage another name')
    .argument('<name>')
    .action(
      cli.run(async ({ out, work }, ref: string, name: string, flags: { pipeline?: string }) => {
        const { findStage, renameStage } = await import('./deals.ts')
        shown(out, await work(async (w) => renameStage(w, await findStage(w, ref, flags.pipeline), name)))
      }),
    )

  onStage('set-kind', 'Change a stage’s kind, and with it the status of its deals; no event fires')
    .argument('<kind>', 'open, won or lost')
    .option('--dry-run', 'count the deals whose status would change')
    .action(
      cli.run(async (context, ref: string, given: string, flags: { pipeline?: string; dryRun?: boolean }) => {
        const { out, work, confirm } = context
        const { countDeals, findStage, setStageKind } = await import('./deals.ts')
        const kind = await kindOf(given)
        if (flags.dryRun) {
          const { id, name, kind: before } = await work((w) => findStage(w, ref, flags.pipeline))
          const deals = before === kind ? 0 : await work((w) => countDeals(w, id))
          await confirm(`make ${deals} deals in ${name} ${kind}; no event fires`, flags, { id, name, kind, deals })
          return
        }
        const changed = await work(async (w) => setStageKind(w, await findStage(w, ref, flags.pipeline), kind))
        shown(out, changed.pipeline)
        out.note(`${changed.deals} deals are ${kind} now.`)
      }),
    )

  onStage('delete', 'Delete a stage; its deals move to another one, each with its event')
    .option('--move-deals-to <stage>', 'the stage of the same pipeline that gets its deals: id or name')
    .option('--yes', 'do it without asking')
    .option('--dry-run', 'say what would change')
    .action(
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
            throw new Problem('usage', `${stage.name} has ${deals} deals: --move-deals-to says where they go`)
          }
          const given = flags.moveDealsTo
          const to = given === undefined ? null : await work((w) => findStage(w, given, stage.pipeline.id))
          const moves = deals > 0 ? ` and move ${deals} deals to ${to!.name} (${deals} deal.stage_changed)` : ''
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
