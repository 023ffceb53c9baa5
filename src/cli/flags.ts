/*
 * The flags and arguments of commands. A command lists its flags by the property that its `run` reads (`replyTo` is
 * `--reply-to`); define.ts adds them to the program, in that order.
 */

/** The values of a closed set, or a function that imports them, so that `--help` does not load their module. */
type ClosedSet = readonly string[] | (() => Promise<readonly string[]>)

export interface Place {
  description: string
  /** The values that it takes, for questions, completion and suggestions. The operation checks the value. */
  of?: ClosedSet
  /** Whether it takes several values of the set, separated by commas. */
  isMany?: boolean
  /**
   * What its values are ids or names of, such as `stages`, if neither its name nor its value says so as `--list <id>` and
   * `--to <stage>` do. It is null if they name nothing that exists.
   */
  noun?: string | null
  /** Whether its value may be the name of something new as well. */
  mayBeNew?: boolean
}

/** A flag whose value has that type; it includes undefined if the flag may be left out. */
export interface Flag<Value> extends Place {
  /** The value as help shows it, such as `<id|name>`; undefined for a switch. */
  value?: string
  /** The short form, such as `-f`. */
  short?: string
  /** Whether it is given as `--no-<name>`. */
  isNegated?: boolean
  default?: Value
  /** Whether the command needs it (`needed`). */
  isNeeded?: boolean
  /** Whether the flag rolls back the units of work of its command (`changing`). */
  rollsBack?: boolean
  /** Returns the value for a text. `earlier` is the value so far, as a flag may be repeated. */
  parse?: (text: string, earlier: never) => Value
}

export type Flags = Readonly<Record<string, Flag<unknown>>>

type Extra = Partial<Pick<Flag<string>, 'short' | 'of' | 'isMany' | 'noun' | 'mayBeNew' | 'default'>>

/** A flag with a value, such as `--name <name>`. It is undefined if it is left out and has no default. */
export const text = <E extends Extra = Record<never, never>>(
  value: string,
  description: string,
  extra?: E,
): Flag<E extends { default: string } ? string : string | undefined> => ({ value, description, ...extra })

/** A flag that the command needs. A person is asked for it; without a terminal the command is refused if it is missing. */
export const needed = (value: string, description: string, extra: Omit<Extra, 'default'> = {}): Flag<string> => ({
  value,
  description,
  ...extra,
  isNeeded: true,
})

/** A flag whose text is parsed. `parse` throws Problem `usage`. */
export const parsed = <Value>(
  parse: (text: string) => Value,
  value: string,
  description: string,
): Flag<Value | undefined> => ({ value, description, parse })

/** A switch, such as `--open`. */
export const present = (description: string): Flag<boolean | undefined> => ({ description })

/** A switch that turns something off: the flag `events` is `--no-events`, and true without it. */
export const absent = (description: string): Flag<boolean> => ({ description, isNegated: true })

export const repeated = (value: string, description: string, extra?: Pick<Place, 'noun'>): Flag<string[]> => ({
  value,
  description,
  ...extra,
  default: [],
  parse: (text, earlier: string[]) => [...earlier, text],
})

const joined = (text: string, earlier: string | undefined): string => (earlier ? `${earlier},${text}` : text)

/** A flag that takes names separated by commas, and that may be repeated; `namesOf` separates them. */
export const names = (value: string, description: string, of: ClosedSet): Flag<string | undefined> => ({
  value,
  description,
  of,
  isMany: true,
  parse: joined,
})

/** A flag like `names`, but required like `needed`. */
export const neededNames = (value: string, description: string, of: ClosedSet): Flag<string> => ({
  ...needed(value, description, { of }),
  isMany: true,
  parse: joined,
})

/** Returns the names in the value of a flag, separated by commas. */
export const namesOf = (text: string): string[] =>
  text
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean)

/** The flags of a command that asks first (`confirm`). */
export const confirmed = (dryRun = 'show what would happen, and change nothing') => ({
  yes: present('skip the question'),
  dryRun: present(dryRun),
})

/** The flags of `confirmed`. */
export interface Confirmation {
  yes?: boolean
  dryRun?: boolean
}

/** The flags of a command that changes or sends something without a question, and sees to its dry run itself. */
export const unasked = (dryRun: string, yes = 'accepted for scripts; this command never asks') => ({
  yes: present(yes),
  dryRun: present(dryRun),
})

/**
 * The flags of a command that changes data without a question. With `--dry-run` its units of work are rolled back, and its
 * output has `dryRun: true`: only for a command of one unit of work, without other effects.
 */
export const changing = (dryRun = 'show what would change, and change nothing', yes?: string) => {
  const flags = unasked(dryRun, yes)
  return { ...flags, dryRun: { ...flags.dryRun, rollsBack: true } }
}

/** The flags of a command that applies the documents of a file (`printApplied`). */
export const applying = {
  file: needed('<file>', 'the file, or - for standard input; several documents are applied all or nothing', {
    short: '-f',
  }),
  ...unasked('check the file and show what would change'),
}

/** The flags of a list of unbounded length, which `pages` prints. */
export const paged = {
  limit: text('<n>', 'rows to show, 1 to 1000 (default: 50; no limit with --jsonl or -q)'),
  cursor: text('<cursor>', 'continue after the page that ended with this cursor'),
}

/** The flag of a list that `follow` prints. */
export const followed = {
  follow: present('print new entries as they arrive (from --since, if given) until Ctrl-C'),
}

/**
 * An argument. Its name says how it is given: `<id>` is required, `[email]` may be left out, and a name that ends with
 * `...` takes all that follow.
 */
export interface Argument<Name extends string = string> extends Place {
  name: Name
}

/** An argument, such as `<id>`. */
export const argument = <const Name extends string>(
  name: Name,
  description = '',
  extra: Omit<Place, 'description'> = {},
): Argument<Name> => ({ name, description, ...extra })

type ValueOfArgument<Name> = Name extends `${string}...${string}`
  ? string[]
  : Name extends `[${string}`
    ? string | undefined
    : string

/** What `run` gets for the arguments, in their order. */
export type ArgumentValues<Arguments extends readonly Argument[]> = {
  [At in keyof Arguments]: ValueOfArgument<Arguments[At]['name']>
}

type ValueOf<F> = F extends Flag<infer Value> ? Value : never
type OptionalNames<F extends Flags> = { [Name in keyof F]: undefined extends ValueOf<F[Name]> ? Name : never }[keyof F]

/** What `run` gets for the flags. Those that may be left out are optional. */
export type FlagValues<F extends Flags> = {
  -readonly [Name in Exclude<keyof F, OptionalNames<F>>]: ValueOf<F[Name]>
} & {
  -readonly [Name in OptionalNames<F>]?: Exclude<ValueOf<F[Name]>, undefined>
}
