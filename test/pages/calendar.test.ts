import { expect, test } from 'vitest'
import { addToCalendar, type CalendarEvent, googleUrl, outlookUrl } from '../../src/pages/calendar.ts'

const event: CalendarEvent = {
  title: 'Tour & <more>',
  start: new Date(Date.UTC(2027, 0, 4, 9)),
  end: new Date(Date.UTC(2027, 0, 4, 10, 30)),
  description: 'With a walk.\nAnd tea.',
  location: 'https://svc.example/join/1?a=1&b=2',
}

const parametersOf = (url: string) => Object.fromEntries(new URL(url).searchParams)

test('an event opens in Google Calendar with its times in UTC', () => {
  expect(new URL(googleUrl(event)).origin).toBe('https://calendar.google.com')
  expect(parametersOf(googleUrl(event))).toEqual({
    action: 'TEMPLATE',
    text: 'Tour & <more>',
    dates: '20270104T090000Z/20270104T103000Z',
    details: 'With a walk.\nAnd tea.',
    location: 'https://svc.example/join/1?a=1&b=2',
  })
})

test('an event opens in Outlook with its times in UTC', () => {
  expect(new URL(outlookUrl(event)).origin).toBe('https://outlook.live.com')
  expect(parametersOf(outlookUrl(event))).toEqual({
    path: '/calendar/action/compose',
    rru: 'addevent',
    subject: 'Tour & <more>',
    startdt: '2027-01-04T09:00:00.000Z',
    enddt: '2027-01-04T10:30:00.000Z',
    body: 'With a walk.\nAnd tea.',
    location: 'https://svc.example/join/1?a=1&b=2',
  })
})

test('what an event lacks is left out, and a long description is cut', () => {
  const { title, start, end } = event
  for (const url of [googleUrl({ title, start, end }), outlookUrl({ title, start, end })])
    expect(url).not.toMatch(/details|body|location/)
  const long = { ...event, description: 'x'.repeat(50_000) }
  for (const url of [googleUrl(long), outlookUrl(long)]) expect(url.length).toBeLessThan(2_000)
})

test('the block links to both and to the file, without a referrer', () => {
  const { text } = addToCalendar(event, '/join/1/calendar.ics?a=1&b=2')
  expect(text).toContain('href="/join/1/calendar.ics?a=1&amp;b=2"')
  const links = [...text.matchAll(/<a href="(https:[^"]*)"([^>]*)>/g)]
  expect(links.map(([, url]) => new URL(url!.replaceAll('&amp;', '&')).host)).toEqual([
    'calendar.google.com',
    'outlook.live.com',
  ])
  for (const [, , attributes] of links) expect(attributes).toContain('rel="noopener noreferrer"')
})
