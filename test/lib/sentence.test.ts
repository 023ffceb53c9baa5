import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { sentence } from '../../src/lib/sentence.ts'
import { text } from '../../src/lib/text.ts'

const Everything = z.strictObject({
  title: text(5),
  email: z.string({ error: 'A valid email is required' }).optional(),
  events: z
    .array(z.enum(['a.one', 'b.two']))
    .min(1)
    .max(2)
    .optional(),
  kind: z.enum(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i']).optional(),
  only: z.literal('x').optional(),
  capacity: z.number().min(0).max(9).optional(),
  at: z.int().positive().optional(),
  step: z.number().multipleOf(2).optional(),
  flag: z.boolean().optional(),
  value: z.union([z.number(), z.string()]).optional(),
  code: z.string().length(3).optional(),
  name: z.string().min(1).optional(),
  label: z.string().min(2).optional(),
  currency: z
    .string()
    .regex(/^[A-Z]{3}$/)
    .optional(),
  to: z.email().optional(),
  url: z.url().optional(),
  link: z.url('must be a public URL').optional(),
  rule: z
    .string()
    .refine(() => false, "can't be this")
    .optional(),
  bare: z
    .string()
    .refine(() => false)
    .optional(),
  fields: z.record(text(3), z.string()).optional(),
  contacts: z.array(z.object({ email: z.string() })).optional(),
  step1: z
    .discriminatedUnion('kind', [z.object({ kind: z.literal('a') }), z.object({ kind: z.literal('b') })])
    .optional(),
  either: z.union([z.string(), z.object({ id: z.string() })]).optional(),
})
const must = z.object({ value: z.union([z.number(), z.string()]), list: z.array(z.string()) })

const said = (shape: z.ZodType, input: unknown, root?: string) =>
  sentence(shape.safeParse(input).error?.issues ?? [], root)
const ok = { title: 'ok' }

describe('a refusal names its field in one sentence', () => {
  test.each<[unknown, string]>([
    [undefined, 'body is required'],
    [null, 'body must be a JSON object'],
    [[], 'body must be a JSON object'],
    [{}, 'title is required'],
    [{ title: null }, 'title must be a string'],
    [{ title: 'longer' }, 'title must be at most 5 characters'],
    [{ title: 'a\0' }, 'title must not contain NUL characters'],
    [{ title: 'a\ud800' }, 'title must be well-formed Unicode'],
    [{ ...ok, email: 3 }, 'A valid email is required'],
    [{ ...ok, events: 'a.one' }, 'events must be an array'],
    [{ ...ok, events: [] }, 'events must have at least 1 item'],
    [{ ...ok, events: ['a.one', 'a.one', 'a.one'] }, 'events must have at most 2 items'],
    [{ ...ok, events: ['a.one', 'c'] }, 'events[1] must be one of a.one, b.two'],
    [{ ...ok, kind: 'z' }, 'kind must be one of a, b, c, d, e, f, g, h, …'],
    [{ ...ok, only: 'z' }, 'only must be x'],
    [{ ...ok, capacity: '3' }, 'capacity must be a number'],
    [{ ...ok, capacity: Number.NaN }, 'capacity must be a number'],
    [{ ...ok, capacity: -1 }, 'capacity must be at least 0'],
    [{ ...ok, capacity: 10 }, 'capacity must be at most 9'],
    [{ ...ok, at: 1.5 }, 'at must be a whole number'],
    [{ ...ok, at: 0 }, 'at must be more than 0'],
    [{ ...ok, step: 3 }, 'step must be a multiple of 2'],
    [{ ...ok, flag: 'yes' }, 'flag must be true or false'],
    [{ ...ok, value: [] }, 'value must be a number or a string'],
    [{ ...ok, code: 'ab' }, 'code must be exactly 3 characters'],
    [{ ...ok, name: '' }, 'name must not be empty'],
    [{ ...ok, label: 'a' }, 'label must be at least 2 characters'],
    [{ ...ok, currency: 'EURO' }, 'currency has an invalid format'],
    [{ ...ok, to: 'x' }, 'to must be an email address'],
    [{ ...ok, url: 'x' }, 'url must be a URL'],
    [{ ...ok, link: 'x' }, 'link must be a public URL'],
    [{ ...ok, rule: 'x' }, "rule can't be this"],
    [{ ...ok, bare: 'x' }, 'bare is invalid'],
    [{ ...ok, fields: [] }, 'fields must be an object'],
    [{ ...ok, fields: { abc: 1 } }, 'fields.abc must be a string'],
    [{ ...ok, fields: { 'a b': 1 } }, 'fields."a b" must be a string'],
    [{ ...ok, fields: { 'a\0': 'x' } }, 'a name in fields must not contain NUL characters'],
    [{ ...ok, fields: { abcd: 'x' } }, 'a name in fields must be at most 3 characters'],
    [{ ...ok, contacts: [{ email: 'a' }, {}] }, 'contacts[1].email is required'],
    [{ ...ok, contacts: [{ email: 1 }] }, 'contacts[0].email must be a string'],
    [{ ...ok, step1: { kind: 'z' } }, 'step1.kind must be one of a, b'],
    [{ ...ok, either: { id: 3 } }, 'either.id must be a string'],
    [{ ...ok, either: 3 }, 'either must be a string or an object'],
    [{ ...ok, strange: 1 }, 'body has an unknown property strange'],
  ])('%j: %s', (input, expected) => {
    expect(said(Everything, input)).toBe(expected)
  })

  test('a missing union is required', () => {
    expect(said(must, {})).toBe('value is required')
  })

  test('of several issues the first one is reported', () => {
    expect(said(must, { value: 1, list: [1, 2] })).toBe('list[0] must be a string')
  })

  test('a bound is the real one whatever the value', () => {
    const few = z.object({ n: z.int().min(1).max(500) })
    for (const n of [501, 1e15, 2 ** 53, 1e300]) expect(said(few, { n })).toBe('n must be at most 500')
    for (const n of [0, -5, -1e300]) expect(said(few, { n })).toBe('n must be at least 1')
    const either = z.union([few, z.object({ list: z.string() })])
    expect(said(either, { n: 1e300 })).toBe('n must be at most 500')
    expect(said(z.object({ a: z.int(), n: z.int().max(9) }), { a: 1e300, n: 10 })).toBe(
      `a must be at most ${Number.MAX_SAFE_INTEGER}`,
    )
  })

  test('the root has the given name', () => {
    expect(said(z.string(), 3, 'email')).toBe('email must be a string')
  })

  test('a long or strange name of the caller is quoted and cut', () => {
    const message = said(z.strictObject({}), { [`${'x'.repeat(1000)}\n`]: 1 })
    expect(message).toBe(`body has an unknown property "${'x'.repeat(40)}…"`)
  })

  test('a text may use all its characters, of any script', () => {
    expect(text(5).parse('αβγδε')).toBe('αβγδε')
    expect(text(2).parse('😀')).toBe('😀')
  })
})
