import { type CommandList, command } from '../cli/define.ts'
import { argument, changing, confirmed, needed, text } from '../cli/flags.ts'
import { parse } from '../cli/input.ts'
import { type Column, properties } from '../cli/output.ts'
import { Problem } from '../lib/problem.ts'
import type { SegmentView } from './segments.ts'

const columns: Column<SegmentView>[] = [
  ...properties<SegmentView>('id', 'name'),
  ['LIST', (segment) => (segment.listDeleted ? 'deleted' : segment.listId)],
  ...properties<SegmentView>('where', 'createdAt'),
]

/** The commands `svc segments`. */
export const commands: CommandList = [
  command({
    path: 'segments create',
    summary: 'Create a segment: the contacts of a list that meet a filter',
    examples: [
      `svc segments create --name "Active customers" --list Customers --where 'plan = pro and opened < 30d'`,
      `svc segments create --name Vienna --list Customers --where 'field."Home town" = Vienna or domain ~ .at' --dry-run`,
    ],
    flags: {
      name: needed('<name>', 'name of the segment, unique in the account'),
      list: needed('<id|name>', 'the list'),
      where: needed('<filter>', 'the filter, such as plan = pro and opened < 30d'),
      ...changing('show how many contacts would be in it, and change nothing'),
    },
    run: async ({ out, work }, { name, list, where, dryRun }) => {
      const { countSegment, createSegment, NewSegment } = await import('./segments.ts')
      const input = await parse(NewSegment, { name, list, where })
      if (dryRun) {
        const counted = await work(async (w) => {
          const segment = await createSegment(w, input)
          return { ...segment, count: await countSegment(w, segment) }
        })
        return out.one(await out.named(counted))
      }
      const segment = await work((w) => createSegment(w, input))
      out.one(await out.named(segment))
      out.next(`svc contacts list --segment ${segment.id}`)
    },
  }),

  command({
    path: 'segments list',
    isDefault: true,
    summary: 'List the segments, by name',
    examples: ['svc segments', 'svc segments list --json'],
    run: async ({ out, work }) => {
      const { listSegments } = await import('./segments.ts')
      await out.list('segments', await work(listSegments), columns)
    },
  }),

  command({
    path: 'segments show',
    summary: 'Show a segment and how many contacts are in it now',
    examples: ['svc segments show "Active customers"', 'svc segments show Vienna --json'],
    arguments: [argument('<segment>', 'id or name')],
    run: async ({ out, work }, ref) => {
      const { countSegment, findSegment } = await import('./segments.ts')
      const segment = await work((w) => findSegment(w, ref))
      out.one(await out.named({ ...segment, count: await work((w) => countSegment(w, segment)) }))
    },
  }),

  command({
    path: 'segments update',
    summary: 'Change the name or the filter of a segment',
    examples: [
      'svc segments update Vienna --name "Vienna and Graz"',
      `svc segments update Vienna --where 'field."Home town" in (Vienna, Graz)' --dry-run`,
    ],
    arguments: [argument('<segment>', 'id or name')],
    flags: {
      name: text('<name>', 'its new name, unique in the account'),
      where: text('<filter>', 'its new filter'),
      ...changing('show how many contacts would be in it, and change nothing'),
    },
    run: async ({ out, work }, ref, { name, where, dryRun }) => {
      const { countSegment, SegmentChange, updateSegment } = await import('./segments.ts')
      if (name === undefined && where === undefined) throw new Problem('usage', 'Give --name or --where')
      const change = await parse(SegmentChange, { name, where })
      out.one(
        await work(async (w) => {
          const segment = await updateSegment(w, ref, change)
          return dryRun ? { ...segment, count: await countSegment(w, segment) } : segment
        }),
      )
    },
  }),

  command({
    path: 'segments delete',
    summary: 'Delete a segment; its contacts stay',
    examples: ['svc segments delete Vienna --dry-run', 'svc segments delete Vienna --yes'],
    arguments: [argument('<segment>', 'id or name')],
    flags: confirmed('show what would be deleted'),
    run: async ({ confirm, out, trial, work }, ref, flags) => {
      const { deleteSegment } = await import('./segments.ts')
      const planned = await trial((w) => deleteSegment(w, ref))
      if (!(await confirm(`delete the segment ${planned.name}; no contact changes`, flags, planned))) return
      out.one(await work((w) => deleteSegment(w, planned.id)))
    },
  }),
]
