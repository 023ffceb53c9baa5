import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { bookingMail } from '../../src/bookings/bookings.mails.ts'
import { confirmMail } from '../../src/forms/forms.mails.ts'
import { confirmationMail } from '../../src/webinars/emails/attendee.mails.ts'
import { describePages, expectGoodOnEveryScreen } from '../support/pages.ts'
import { testWith } from '../support/tools.ts'

const booking = {
  ...{ title: 'A call & more', startAt: Date.UTC(2027, 0, 4, 9), endAt: Date.UTC(2027, 0, 4, 9, 30) },
  ...{ timezone: 'Europe/Berlin', name: '<Ada>', status: 'confirmed', reason: null, cancelledBy: null },
}
const url = 'https://svc.example/x/1'
const links = { join: url, calendar: url, cancel: url, leave: url }
const mails = {
  booking: bookingMail('booked', booking as never, { choose: `${url}#call`, cancel: url }).html,
  signup: confirmMail({ formName: 'News & <more>', url }).content.html,
  webinar: confirmationMail({
    name: 'Ada',
    title: 'Tour',
    scheduledAt: new Date(booking.startAt),
    links,
  }).html,
}

describe.each(Object.entries(mails))('the email of a %s', (name, html) => {
  test('has a head with charset, viewport and title, and a dark mode', () => {
    expect(html).toMatch(/^<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta name="viewport"/)
    expect(html).toMatch(/<title>[^<]+<\/title>/)
    expect(html).toContain('<meta name="color-scheme" content="light dark">')
    expect(html).toContain('@media (prefers-color-scheme: dark)')
    expect(html).not.toMatch(/<Ada>|<more>/)
  })

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
      await expectGoodOnEveryScreen(page, `mail-${name}`)
      await page.close()
    })
  })
})
