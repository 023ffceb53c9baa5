import { expect, test } from 'vitest'
import { FormFile } from '../../src/forms/forms.ts'

const faultsOf = (more: object): string[] =>
  FormFile.safeParse({ name: 'News', list: 'Leads', ...more }).error?.issues.map(({ path }) => path.join('.')) ?? []

test.each(['email', 'Email', 'confirm_url', '', '  ', '__proto__'])(
  'a form can’t ask for a field named %j, which is reserved or not a valid name',
  (name) => expect(faultsOf({ fields: ['first_name', name] })).toEqual(['fields.1.name']),
)

test('a form has no duplicate fields, and no more fields than a list has columns', () => {
  expect(faultsOf({ fields: ['a', 'b', 'a'] })).toEqual(['fields.2.name'])
  expect(faultsOf({ fields: Array.from({ length: 40 }, (_, i) => `f${i}`) })).toEqual([])
  expect(faultsOf({ fields: Array.from({ length: 41 }, (_, i) => `f${i}`) })).toEqual(['fields'])
})

test.each([
  '*',
  'null',
  'shop.example',
  'https://',
  'https://shop.example/path',
  'https://shop.example?x',
  'https://shop.example#x',
  'https://ada@shop.example',
  'ftp://shop.example',
  'https://*.shop.example',
  'javascript://shop.example',
])('%s is not a valid origin', (origin) => expect(faultsOf({ origins: [origin] })).toEqual(['origins.0']))

test('origins are stored as browsers send them, without duplicates', () => {
  const origins = [
    'https://Shop.example/',
    'https://shop.example:443',
    'http://localhost:3000',
    'https://bücher.example',
  ]
  expect(FormFile.parse({ name: 'News', list: 'Leads', origins }).origins).toEqual([
    'https://shop.example',
    'http://localhost:3000',
    'https://xn--bcher-kva.example',
  ])
})

test('exactly one of list and listId is required', () => {
  expect(faultsOf({ list: undefined })).toEqual(['list'])
  expect(faultsOf({ listId: 'lst_1' })).toEqual(['list'])
})
