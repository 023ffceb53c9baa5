// biome-ignore-all lint/suspicious/noThenProperty: the contract's name for one side of a step
import { expect, test } from 'vitest'
import type { Step } from '../../../src/journeys/definition/definition.schema.ts'
import { after, type Cursor, firstCursor, into, pathOf, stepAt } from '../../../src/journeys/definition/walk.ts'

const leaf = (field: string): Step => ({ kind: 'update-field', field, value: 'x' })

/** Each leaf has its place as its name. */
const definition: { steps: Step[] } = {
  steps: [
    leaf('0'),
    {
      kind: 'branch',
      if: { field: 'plan', equals: 'pro' },
      then: [
        leaf('1.then.0'),
        {
          kind: 'wait-for',
          event: 'lead.hot',
          timeout: '1d',
          then: [{ kind: 'split', percent: 50, a: [leaf('1.then.1.then.0.a.0')], b: [] }],
          else: [],
        },
      ],
    },
    leaf('2'),
  ],
}

test('a run begins with the first step, and a journey without steps has no place', () => {
  expect(firstCursor(definition)).toEqual([0])
  expect(firstCursor({ steps: [] })).toBeNull()
})

test.each<[Cursor, string]>([
  [[0], '0'],
  [[1, 'then', 0], '1.then.0'],
  [[1, 'then', 1, 'then', 0, 'a', 0], '1.then.1.then.0.a.0'],
  [[2], '2'],
])('the step at %j is found', (cursor, field) => {
  expect(stepAt(definition, cursor)).toEqual(leaf(field))
})

test.each<Cursor[]>([[[]], [[3]], [[0, 'then', 0]], [[1, 'else', 0]], [[1, 'then']], [[1, 'then', 2]]])(
  'there is no step at %j',
  (cursor) => {
    expect(() => stepAt(definition, cursor)).toThrow(/no step at steps/)
  },
)

test.each<[Cursor, Cursor | null]>([
  [[0], [1]],
  [[1], [2]],
  [[2], null],
  [
    [1, 'then', 0],
    [1, 'then', 1],
  ],
  [[1, 'then', 1], [2]],
  [[1, 'then', 1, 'then', 0], [2]],
  [[1, 'then', 1, 'then', 0, 'a', 0], [2]],
])(
  'the place after %j is %j: at the end of a side the run continues after the step that has the side',
  (cursor, next) => {
    expect(after(definition, cursor)).toEqual(next)
  },
)

test.each<[Cursor, 'then' | 'else' | 'a' | 'b', Cursor | null]>([
  [[1], 'then', [1, 'then', 0]],
  [[1], 'else', [2]],
  [[1, 'then', 1], 'then', [1, 'then', 1, 'then', 0]],
  [[1, 'then', 1], 'else', [2]],
  [[1, 'then', 1, 'then', 0], 'a', [1, 'then', 1, 'then', 0, 'a', 0]],
  [[1, 'then', 1, 'then', 0], 'b', [2]],
])('from %j the side %s leads to %j: an empty or absent side leads to the next step', (cursor, side, next) => {
  expect(into(definition, cursor, side)).toEqual(next)
})

test('the last step of the last side is the journey’s end', () => {
  const branch: Step = { kind: 'branch', if: { field: 'plan', exists: true }, then: [leaf('x')], else: [] }
  expect(after({ steps: [branch] }, [0, 'then', 0])).toBeNull()
  expect(into({ steps: [branch] }, [0], 'else')).toBeNull()
})

test('following one side from the first step visits every step once', () => {
  const met: string[] = []
  for (let cursor = firstCursor(definition); cursor; ) {
    met.push(pathOf(cursor))
    const step = stepAt(definition, cursor)
    cursor =
      'then' in step
        ? into(definition, cursor, 'then')
        : 'a' in step
          ? into(definition, cursor, 'a')
          : after(definition, cursor)
  }
  expect(met).toEqual([
    'steps[0]',
    'steps[1]',
    'steps[1].then[0]',
    'steps[1].then[1]',
    'steps[1].then[1].then[0]',
    'steps[1].then[1].then[0].a[0]',
    'steps[2]',
  ])
})
