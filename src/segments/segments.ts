export { createSegment, deleteSegment, NewSegment } from './segments.change.ts'
export { countSegment, findSegment, listSegments, type SegmentView } from './segments.find.ts'
export { narrow } from './segments.narrow.ts'
export type { Asked, FilterParts, Scope, Term } from './segments.terms.ts'
