import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { test } from 'vitest'

/** Returns the path of a program on the PATH; undefined if there is none. */
const pathOf = (name: string): string | undefined =>
  (process.env.PATH ?? '')
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find((path) => existsSync(path))

/** A test that needs a program which is not a dependency; without the program it is skipped, and its title says so. */
export const testWith = (
  program: string,
  title: string,
  run: (tool: (...args: string[]) => string) => Promise<void>,
): void => {
  const path = pathOf(program)
  const tool = (...args: string[]) => {
    try {
      return execFileSync(path!, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
    } catch (error) {
      const { stdout, stderr } = error as { stdout: string; stderr: string }
      throw new Error(`${program} ${args.join(' ')}\n${stdout}${stderr}`)
    }
  }
  test.skipIf(!path)(path ? title : `${title} (skipped: there is no ${program} in the PATH)`, () => run(tool))
}
