import { accessSync, constants } from 'node:fs'
import { join } from 'node:path'

/** Whether this machine has a program of that name. */
export const hasProgram = (name: string): boolean =>
  (process.env.PATH ?? '').split(':').some((folder) => {
    try {
      accessSync(join(folder, name), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
