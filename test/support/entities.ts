import { globSync } from 'node:fs'
import { join } from 'node:path'
import type { EntityClass } from '@mikro-orm/postgresql'

const src = join(import.meta.dirname, '../../src')

/** The files of all entities, relative to `src`. */
export const entityFiles = globSync('**/*.entities.ts', { cwd: src }).sort()

/** Loads the modules of `entityFiles`, in their order. */
export const loadEntityModules = (): Promise<Record<string, EntityClass>[]> =>
  Promise.all(entityFiles.map((file) => import(join(src, file))))

/** Loads all entities. */
export const loadEntities = async (): Promise<EntityClass[]> =>
  (await loadEntityModules()).flatMap((module) => Object.values(module))
