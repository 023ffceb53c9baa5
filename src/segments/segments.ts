/*
 * segments.compile.ts compiles filters to SQL; lib/filter.ts is their language. `x.terms.ts` of other features says
 * what filters compare.
 */

export {
  createSegment,
  deleteSegment,
  filterText,
  NewSegment,
  SegmentChange,
  updateSegment,
} from './segments.change.ts'
export { compileFilter, compileSegment, type Matcher, mistakesFirst, termNames } from './segments.compile.ts'
export { countSegment } from './segments.count.ts'
export {
  findSegment,
  findSegmentById,
  keepSegment,
  listSegments,
  type SegmentView,
} from './segments.find.ts'
export { meetFilter, resolveFilter } from './segments.meet.ts'
export { narrow } from './segments.narrow.ts'
export { scanList } from './segments.scan.ts'
export type { Asked, FilterNames, FilterParts, Term } from './segments.terms.ts'

declare module '../store/work.ts' {
  interface Listener {
    /** Counts what will still use a segment, and so prevents its deletion. */
    segmentUses?(work: Work, segmentId: string): Promise<{ broadcasts: number }>
  }
}
