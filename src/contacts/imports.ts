import { idOfCursor, type Page, pageOf } from '../lib/cursor.ts'
import type { Work } from '../store/work.ts'
import { findImport, type ImportView, viewImport } from './imports.checkpoint.ts'

export { type ImportOptions, type ImportView, type OpenImport, openImport, startImport } from './imports.checkpoint.ts'
export { parseMap } from './imports.columns.ts'
export type { Counts } from './imports.counts.ts'
export { openFile, openStdin, type Source } from './imports.file.ts'
export { openList, prepareImport, targetList } from './imports.prepare.ts'
export { previewImport } from './imports.preview.ts'
export { checkRejectsFile, listRejects, writeRejects } from './imports.rejects.ts'
export { runImport } from './imports.run.ts'

/** Newest first. Throws Problem `invalid` for a bad cursor. */
export const listImports = async (
  work: Work,
  { limit, cursor }: { limit: number; cursor?: string },
): Promise<Page<ImportView>> => {
  const where = cursor === undefined ? {} : { id: { $lt: idOfCursor('imp', cursor) } }
  const [em, { Import }] = await Promise.all([work.em(), import('./contacts.entities.ts')])
  const rows = await em.find(Import, where, { orderBy: { id: 'desc' }, limit: limit + 1 })
  return pageOf(rows.map(viewImport), limit)
}

/** Throws `missing`. */
export const showImport = async (work: Work, id: string): Promise<ImportView> => viewImport(await findImport(work, id))
