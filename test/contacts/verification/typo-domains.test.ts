import { expect, test } from 'vitest'
import { isTypoDomain } from '../../../src/contacts/verification/typo-domains.ts'

test.each([
  'gmial.com',
  'gmail.con',
  'gmail.co',
  'hotmail.cm',
  'hotmial.fr',
  'yaho.co.uk',
  'yahoo.co.ukk',
  't-onlin.de',
])('%s is a typo', (domain) => {
  expect(isTypoDomain(domain)).toBe(true)
})

test.each(
  `yahoo.gr yahoo.fi yahoo.ro yahoo.de yahoo.it yahoo.es yahoo.ca yahoo.in yahoo.se yahoo.dk yahoo.no yahoo.co.in yahoo.co.jp
   yahoo.co.id yahoo.co.nz yahoo.co.za yahoo.com.br yahoo.com.au yahoo.com.mx yahoo.com.ar hotmail.gr hotmail.fi hotmail.de
   hotmail.it hotmail.es hotmail.be hotmail.nl hotmail.se hotmail.no hotmail.dk hotmail.ca hotmail.ch hotmail.co.nz
   hotmail.co.jp hotmail.com.br hotmail.com.tr outlook.fr outlook.de outlook.es outlook.com.br wanadoo.es t-online.hu
   googlemail.com protonmail.ch cloud.com ymail.com`.split(/\s+/),
)('%s is a provider, not a typo', (domain) => {
  expect(isTypoDomain(domain)).toBe(false)
})
