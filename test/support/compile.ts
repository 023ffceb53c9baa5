import { glob } from 'node:fs/promises'
import { join } from 'node:path'

/*
 * Loads all modules of svc, so that Node's compile cache has them when this process ends (global.ts). Other processes write theirs at their
 * end too, and those that tests kill never do.
 */

const root = join(import.meta.dirname, '../..')
/** They work when they are loaded. */
const programs = ['**/*.worker.ts', '**/*.mjml.ts']
for await (const file of glob('src/**/*.ts', { cwd: root, exclude: programs })) await import(join(root, file))
