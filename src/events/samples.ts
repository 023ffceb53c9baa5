import { newId } from '../lib/ids.ts'
import { buildData, type EventInput, envelope } from './builders.ts'
import type { Contact, Deal, WebhookEvent } from './shapes.ts'
import type { EventType } from './types.ts'

const minutes = 60_000
const days = 24 * 60 * minutes

const sampleContact = (now: number): Contact => ({
  listId: newId('lst', now - 90 * days),
  listName: 'Customers',
  rowId: newId('row', now - 30 * days),
  email: 'ada.okafor@northwind.example',
  fields: { first_name: 'Ada', last_name: 'Okafor', company: 'Northwind Traders', plan: 'pro' },
  status: 'active',
  verification: { status: 'valid', reasons: [], checkedAt: now - 30 * days },
  createdAt: now - 30 * days,
  updatedAt: now,
})

const sampleDeal = (now: number): Deal => ({
  id: newId('deal', now - 7 * days),
  title: 'Annual plan, 25 seats',
  value: 12500.5,
  currency: 'USD',
  pipelineId: newId('pipe', now - 90 * days),
  stageId: newId('stg', now - 90 * days),
  stage: 'Qualified',
  status: 'open',
  source: 'api',
  listId: newId('lst', now - 90 * days),
  rowId: newId('row', now - 30 * days),
  email: 'ada.okafor@northwind.example',
})

const sampleBooking = (now: number) => ({
  id: newId('bkg', now),
  title: 'Product walkthrough',
  startAt: now + 2 * days,
  endAt: now + 2 * days + 30 * minutes,
  timezone: 'Europe/Lisbon',
  attendee: { name: 'Ada Okafor', email: 'ada.okafor@northwind.example' },
})

const sampleProject = (now: number) => ({ id: newId('prj', now - 60 * days), name: 'Spring newsletter' })
const sampleForm = (now: number) => ({ id: newId('frm', now - 60 * days), name: 'Newsletter signup' })

const inputs: { [T in EventType]: (now: number) => EventInput<T> } = {
  'interaction.received': (now) => ({
    interaction: { id: newId('int', now), kind: 'rating', blockId: 'rate-us', value: 4, at: now },
    project: sampleProject(now),
    recipient: { email: 'ada.okafor@northwind.example', rowId: newId('row', now - 30 * days) },
    source: { kind: 'send', id: newId('msg', now - days) },
  }),
  'form.submitted': (now) => ({
    source: 'signup-form',
    form: sampleForm(now),
    fields: { first_name: 'Ada', company: 'Northwind Traders' },
    contact: sampleContact(now),
    submittedAt: now,
  }),
  'contact.created': (now) => ({ contact: { ...sampleContact(now), createdAt: now } }),
  'contact.updated': (now) => ({ contact: sampleContact(now), previous: { plan: 'starter', company: '' } }),
  'lead.hot': (now) => ({ contact: sampleContact(now), score: 53.5, previousScore: 38.5, threshold: 50 }),
  'lead.new': (now) => ({ contact: sampleContact(now), source: 'signup-form', form: sampleForm(now) }),
  'booking.created': (now) => ({ booking: sampleBooking(now) }),
  'booking.cancelled': (now) => ({
    booking: sampleBooking(now),
    cancelledBy: 'attendee',
    reason: 'Travelling that day',
  }),
  'deal.created': (now) => ({ deal: sampleDeal(now) }),
  'deal.stage_changed': (now) => ({ deal: sampleDeal(now), fromStageId: newId('stg', now - 90 * days) }),
  'purchase.completed': (now) => ({
    purchase: {
      id: newId('pay', now),
      amount: 59.8,
      currency: 'USD',
      items: [{ name: 'Field guide', quantity: 2, amount: 29.9 }],
      paidAt: now,
    },
    project: sampleProject(now),
    contact: sampleContact(now),
  }),
  'journey.completed': (now) => ({
    journey: { id: newId('jrn', now - 60 * days), name: 'Welcome series' },
    runId: newId('run', now - 7 * days),
    contact: sampleContact(now),
    enteredAt: now - 7 * days,
    completedAt: now,
  }),
}

/**
 * Returns a realistic event of a type, from the builder of real events (GET /events/sample). `now` in epoch ms. `test` adds
 * `test: true` to `data`, as in test sends.
 */
export const sampleEvent = <T extends EventType>(
  type: T,
  { now, test = false }: { now: number; test?: boolean },
): WebhookEvent<T> => {
  const data = buildData(type, inputs[type](now)) as WebhookEvent<T>['data']
  if (test) data.test = true
  return envelope({ id: newId('evt', now), type, createdAt: now, data })
}
