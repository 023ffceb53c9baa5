import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Line } from './daemons.ts'

const stamped = (at: number, text: string): string => `${new Date(at).toISOString().slice(11, 23)} ${text}`

/** The faults that were caused, with their times. */
export interface Diary {
  lines: string[]
  /** The number of completed faults by name. */
  counts: Record<string, number>
  began(fault: string): void
  ended(fault: string, what: string): void
}

export const createDiary = (): Diary => {
  const lines: string[] = []
  const counts: Record<string, number> = {}
  return {
    lines,
    counts,
    began: (fault) => void lines.push(stamped(Date.now(), `${fault} …`)),
    ended(fault, what) {
      lines.push(stamped(Date.now(), `${fault}: ${what}`))
      counts[fault] = (counts[fault] ?? 0) + 1
    },
  }
}

export const countsOf = (counts: Record<string, number>): string =>
  Object.entries(counts)
    .map(([what, count]) => `${count} ${what}`)
    .join(', ')

interface Parts {
  seed: number
  violations: readonly string[]
  summary: readonly string[]
  /** The rows of items that did not reach a final state. */
  stuck: readonly string[]
  diary: readonly string[]
  lines: readonly Line[]
  serverLog(): Promise<string>
}

const mostLines = 200

/** Writes all details of a run to a file and returns its path. */
export const writeReport = async (parts: Parts): Promise<string> => {
  const { seed, violations, summary, stuck, diary, lines, serverLog } = parts
  const path = join(tmpdir(), `svc-chaos-${seed}.log`)
  const log = lines.slice(-mostLines).map(({ at, daemon, text }) => stamped(at, `daemon ${daemon}: ${text}`))
  const server = (await serverLog()).split('\n').slice(-mostLines)
  const sections = [[`seed ${seed}`], violations, summary, stuck, diary, log, server]
  await writeFile(path, sections.map((section) => section.join('\n')).join('\n\n'))
  return path
}
