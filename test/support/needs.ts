import { accessSync, constants, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { TestOptions } from 'vitest'

declare module 'vitest' {
  interface TaskMeta {
    /** Why a test is skipped (test/support/reporter.ts). */
    skipped?: string
  }
}

// Debian installs servers where the PATH of users does not look.
const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/local/sbin', '/usr/sbin']

/** Returns the path of a program; undefined if this machine has none of that name. */
export const pathOf = (program: string): string | undefined =>
  folders
    .map((folder) => join(folder, program))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK)
        return true
      } catch {
        return false
      }
    })

/** Options of a test or `describe` that is skipped unless `isMet`. The end of the run lists the reasons. */
export const skipUnless = (isMet: unknown, reason: string): Pick<TestOptions, 'skip' | 'meta'> =>
  isMet ? {} : { skip: true, meta: { skipped: reason } }

/** The first words of the lines of .ci/programs: programs that must be there in CI. */
const required = (): string[] =>
  readFileSync(join(import.meta.dirname, '../../.ci/programs'), 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[0]!)

/**
 * Options of a test or `describe` that is skipped if this machine lacks a program. In CI, a program of .ci/programs must be
 * there: without it the test file fails.
 */
export const needs = (program: string, isThere: unknown = pathOf(program)): Pick<TestOptions, 'skip' | 'meta'> => {
  if (!isThere && process.env.CI === 'true' && required().includes(program))
    throw new Error(`${program} of .ci/programs is missing or does not work`)
  return skipUnless(isThere, `${program} is missing or does not work`)
}

export const isRoot = process.getuid?.() === 0

/** Options of a test or `describe` that only root can run. */
export const needsRoot = skipUnless(isRoot, 'only root can run it')

/** Options of a test or `describe` that works in namespaces of its own, which a container or its host may forbid. */
export const needsNamespaces = (canCreate: boolean) => skipUnless(canCreate, 'this user may not create namespaces here')
