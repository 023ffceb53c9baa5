import { z } from 'zod'
import type { App, Work } from '../../store/work.ts'

/** What a session may reach: one account, for as long as it lasts. */
export interface Session {
  readonly app: App
  readonly account: { id: string; name: string }
  /** `mcp:<user>`, in histories. */
  readonly actor: string
  /** Whether the tools that change data are offered. */
  readonly isWriter: boolean
}

export interface ToolCall extends Session {
  work<T>(run: (work: Work) => Promise<T>): Promise<T>
}

export interface Tool<Input extends z.ZodObject = z.ZodObject> {
  /** The words of the command that does the same, joined by an underscore. */
  name: string
  /** What the tool is for, in the words of docs/reference. A command's summary is about its output on a terminal, which is another. */
  description: string
  input: Input
  /** It changes data: offered with `--write` only. */
  changes?: {
    /** A second call with the same arguments changes nothing more. */
    isIdempotent?: true
    /** It posts or sends to other systems or people. */
    reachesOut?: true
    /**
     * Returns the question that a person must accept first, for a tool that deletes or can send to people, or null if this call does
     * neither.
     */
    asks?(call: ToolCall, input: z.output<Input>): Promise<string | null>
  }
  run(call: ToolCall, input: z.output<Input>): Promise<Record<string, unknown>>
}

/** Returns the command that does the same as a tool: `svc deals list` for `deals_list`. */
export const commandOf = (name: string): string => `svc ${name.replace('_', ' ')}`

/** Declares a tool; the type of its input comes from its shape. */
export const tool = <Input extends z.ZodObject>(declared: Tool<Input>): Tool => declared as unknown as Tool

/** The rows that a page has at most: models read all of an answer. */
const mostRows = 100

/** Lists leave out what an overview does not need (mcp.answers.ts). */
const listShape = {
  full: z.boolean().default(false).describe('also verification, ids of other things and empty values'),
}

const pageOf = (defaultRows: number) => ({
  ...listShape,
  limit: z.int().min(1).max(mostRows).default(defaultRows),
  cursor: z.string().max(1000).optional().describe('nextCursor of the page before'),
})

/** The properties of a paged tool. */
export const pageShape = pageOf(20)

/** The properties of a paged tool whose lists are mostly short. */
export const longPageShape = pageOf(mostRows)
