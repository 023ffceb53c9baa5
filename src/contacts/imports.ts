import type { Work } from '../store/work.ts'
import { Import } from './contacts.entities.ts'
import { findImport, type ImportView, viewImport } from './imports.checkpoint.ts'

export { type ImportOptions, type ImportView, type OpenImport, openImport, startImport } from './imports.checkpoint.ts'
export { parseMap } from './imports.columns.ts'
export type { Counts } from './imports.counts.ts'
export { openFile, openStdin, type Source } from './imports.file.ts'
export { openList, prepareImport, targetList } from './imports.prepare.ts'
export { previewImport } from './imports.preview.ts'
export { checkRejectsFile, listRejects, writeRejects } from './imports.rejects.ts'
export { runImport } from './imports.run.ts'

/** Newest first. `cursor` is the id on which the page before ended. */
export const listImports = async (
  { em }: Work,
  { limit, cursor }: { limit: number; cursor?: string },
): Promise<{ imports: ImportView[]; nextCursor: string | null }> => {
  const where = cursor ? { id: { $lt: cursor } } : {}
  const rows = await em.find(Import, where, { orderBy: { id: 'desc' }, limit: limit + 1 })
  const imports = rows.slice(0, limit).map(viewImport)
  return { imports, nextCursor: rows.length > limit ? imports.at(-1)!.id : null }
}

/** Throws `missing`. */
export const showImport = async (work: Work, id: string): Promise<ImportView> => viewImport(await findImport(work, id))
