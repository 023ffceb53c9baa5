export {
  type ImportOptions,
  type ImportView,
  listImports,
  type OpenImport,
  openImport,
  showImport,
  startImport,
} from './imports.checkpoint.ts'
export { parseMap } from './imports.columns.ts'
export type { Counts } from './imports.counts.ts'
export { openFile, openStdin, type Source } from './imports.file.ts'
export { openList, prepareImport, targetList } from './imports.prepare.ts'
export { previewImport } from './imports.preview.ts'
export { checkRejectsFile, listRejects, writeRejects } from './imports.rejects.ts'
export { runImport } from './imports.run.ts'
