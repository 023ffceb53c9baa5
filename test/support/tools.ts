import { execFileSync } from 'node:child_process'
import { test } from 'vitest'
import { needs, pathOf } from './needs.ts'

/** A test with a program that is not a dependency; without the program it is skipped. */
export const testWith = (
  program: string,
  title: string,
  run: (tool: (...args: string[]) => string) => Promise<void>,
): void => {
  const tool = (...args: string[]) => {
    try {
      return execFileSync(pathOf(program)!, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
    } catch (error) {
      const { stdout, stderr } = error as { stdout: string; stderr: string }
      throw new Error(`${program} ${args.join(' ')}\n${stdout}${stderr}`)
    }
  }
  test(title, needs(program), () => run(tool))
}
