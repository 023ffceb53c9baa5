import { bookingMail, type Change } from '../../src/bookings/bookings.mails.ts'
import { courseMail } from '../../src/courses/courses.mails.ts'
import { confirmMail } from '../../src/forms/forms.mails.ts'
import type { MailBrand } from '../../src/pages/plain-mail.ts'
import { relayMail } from '../../src/senders/senders.mails.ts'
import * as webinars from '../../src/webinars/emails/attendee.mails.ts'

const booking = {
  ...{ title: 'A call & more', startAt: Date.UTC(2027, 0, 4, 9), endAt: Date.UTC(2027, 0, 4, 9, 30) },
  ...{ timezone: 'Europe/Berlin', name: '<Ada>', status: 'confirmed', reason: null, cancelledBy: null },
}
const cancelled = { ...booking, status: 'cancelled', reason: 'I am <b>ill</b>', cancelledBy: 'host' }
const url = 'https://svc.example/x/1?a=1&b=2'
const links = { join: url, calendar: url, cancel: url, leave: url }

export const brandOfShop: MailBrand = {
  brandName: 'Harbour & Sons',
  logo: '/assets/acc_1/logo?v=1',
  logoSize: { width: 560, height: 200 },
  color: '#0f766e',
  postalAddress: 'Harbour & Sons\n1 Quay Street, 20457 Hamburg',
  privacyUrl: 'https://shop.example/privacy?a=1&b=2',
  timezone: 'Europe/Berlin',
  lang: 'de',
  publicUrl: 'https://svc.example',
}

/** Returns every built-in email by its name. */
export const builtInMails = (brand?: MailBrand): Record<string, { subject: string; html: string; text: string }> => {
  const locale = { lang: brand?.lang ?? null, timezone: brand?.timezone ?? null }
  const facts = {
    ...{
      name: '<Ada>',
      title: 'Tour <1> & more',
      scheduledAt: new Date(booking.startAt),
      durationMinutes: 60,
      locale,
      links,
    },
    ...{ replayUrl: 'https://video.example/1', ...(brand && { brand }) },
  }
  const bookingOf = (change: Change, row: object = booking) =>
    bookingMail(change, row as never, { choose: `${url}#call`, cancel: url }, brand)
  const course = { email: 'ada@acme.test', title: 'Knots & <more>', portalUrl: url, ...(brand && { brand }) }
  const confirm = confirmMail({ formName: 'News & <more>', url, ...(brand && { brand }) })
  return {
    signup: { subject: confirm.subject, ...confirm.content },
    booked: bookingOf('booked'),
    moved: bookingOf('moved'),
    reminder: bookingOf('reminder'),
    cancelled: bookingOf('cancelled', cancelled),
    enrolled: courseMail('enrolled', { ...course, certificate: '' }),
    'enrolled without a portal': courseMail('enrolled', { ...course, portalUrl: '', certificate: '' }),
    completed: courseMail('completed', { ...course, certificate: `${url}&c` }),
    registered: webinars.confirmationMail(facts),
    'registered without a time': webinars.confirmationMail({ ...facts, scheduledAt: null }),
    waitlisted: webinars.waitlistMail(facts),
    'webinar reminder': webinars.reminderMail(facts),
    'webinar moved': webinars.movedMail(facts),
    'webinar moved on the waitlist': webinars.movedWaitlistMail(facts),
    'webinar cancelled': webinars.cancellationMail(facts),
    left: webinars.leftMail(facts),
    attended: webinars.attendedMail(facts),
    missed: webinars.missedMail(facts),
    relay: relayMail(brand),
  }
}
