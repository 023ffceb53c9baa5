import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { harbourPng } from '../../src/tools/dev/picture.ts'
import { brandOfShop, builtInMails } from '../support/built-in-mails.ts'
import { describePages, emailScope, expectGoodOnEveryScreen } from '../support/pages.ts'
import { testWith } from '../support/tools.ts'

const { signup, booked, cancelled, registered, completed } = builtInMails(brandOfShop)
const plain = builtInMails()
const mails = {
  signup,
  booked,
  cancelled,
  registered,
  completed,
  plain: plain.registered,
  'plain-signup': plain.signup,
}

/** The logo, which a test loads from nowhere. */
const picture = `data:image/png;base64,${harbourPng.toString('base64')}`

describe.each(Object.entries(mails))('the email of a %s', (name, mail) => {
  const html = mail!.html.replace(/src="[^"]*logo[^"]*"/, `src="${picture}"`)

  testWith('html-validate', 'is well-formed by html-validate', async (validate) => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-mail-'))
    try {
      await writeFile(join(folder, '.htmlvalidate.json'), '{"root":true,"extends":["html-validate:document"]}')
      await writeFile(join(folder, `${name}.html`), html)
      expect(validate(join(folder, `${name}.html`))).toBe('')
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  describePages('in Chromium', (openPage) => {
    test('is accessible and fits every screen', async () => {
      const page = await openPage()
      await page.setContent(html)
      await expectGoodOnEveryScreen(page, `mail-${name}`, emailScope)
      await page.close()
    })
  })
})
