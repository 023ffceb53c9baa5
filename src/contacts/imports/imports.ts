export type { OptOut } from './batch.ts'
export {
  type ImportOptions,
  type ImportView,
  listImports,
  type OpenImport,
  openImport,
  showImport,
  startImport,
} from './checkpoint.ts'
export { type Origin, parseMap } from './columns.ts'
export type { Counts } from './counts.ts'
export { openFile, openStdin, type Source } from './file.ts'
export { runImport } from './imports.run.ts'
export { openTable, type Table } from './imports.table.ts'
export { type FileFormat, inspectFile } from './inspect.ts'
export { warningsOf } from './opted-out.ts'
export { findOrCreateList, type OriginFlags, originOf, prepareImport, requireColumns, targetList } from './prepare.ts'
export { previewImport } from './preview.ts'
export { checkRejectsFile, listRejects, reasonsOf, writeRejects } from './rejects.ts'
export { type Reading, vendorNames } from './vendors.ts'
