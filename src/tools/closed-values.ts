import { scopes } from '../accounts/accounts.scopes.ts'
import { paymentStatuses } from '../checkout/checkout.find.ts'
import { stageKinds } from '../deals/deals.shapes.ts'
import { deliveryStatuses } from '../deliveries/deliveries.find.ts'
import { eventTypes } from '../events/events.ts'
import { runStatuses, triggerKinds } from '../journeys/definition/definition.ts'
import { messageStatuses } from '../messages/messages.shapes.ts'
import { suppressionReasons } from '../messages/suppression/suppression.ts'
import { queueNames } from '../queue/holds.ts'
import { mailModes } from './catcher/catcher.ts'

const plans = ['free', 'starter', 'pro', 'business', 'unlimited']
/** Shells that `svc completion` supports. */
const shells = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof shells)[number]
/** Products whose exports are read: those of contacts/imports/vendors.ts. */
const products = ['mailchimp', 'hubspot', 'brevo', 'listmonk', 'resend', 'plunk']
/** What decides between subjects: those of broadcasts/broadcasts.variants.ts. */
const winners = ['opened', 'clicked', 'answered']
const bookingStatuses = ['confirmed', 'cancelled']

/** The closed sets of values of flags and arguments, by command. */
export const closedValues: Readonly<Record<string, readonly string[]>> = {
  'accounts create --plan': plans,
  'accounts set-plan <plan>': plans,
  'accounts set-plan <new-plan>': plans,
  'plans show <plan>': plans,
  'plans set <plan>': plans,
  'plans set --webinar-courses': ['yes', 'no'],
  'bookings list --status': bookingStatuses,
  'broadcasts create --winner': winners,
  'broadcasts update --winner': winners,
  'completion <shell>': shells,
  'contacts export --format': ['csv', 'jsonl'],
  'contacts import --on-conflict': ['upsert', 'skip'],
  'contacts import --from': products,
  'contacts import --encoding': ['utf-8', 'latin1'],
  'deals list --status': stageKinds,
  'deliveries list --status': deliveryStatuses,
  'deliveries list --type': eventTypes,
  'deliveries replay --status': deliveryStatuses,
  'deliveries replay --type': eventTypes,
  'deliveries cancel --type': eventTypes,
  'deliveries stats --type': eventTypes,
  'events list --type': eventTypes,
  'events sample <type>': eventTypes,
  'events send <type>': eventTypes,
  'forms update --double-opt-in': ['yes', 'no'],
  'journeys list --trigger': triggerKinds,
  'journeys runs --status': runStatuses,
  'keys create --scope': scopes,
  'listen --events': eventTypes,
  'mail mode <mode>': mailModes,
  'payments list --status': paymentStatuses,
  'payments provider set --provider': ['stripe', 'test'],
  'pipelines stages add --kind': stageKinds,
  'pipelines stages set-kind <kind>': stageKinds,
  'queues pause <queue>': queueNames,
  'queues resume <queue>': queueNames,
  'queues show <queue>': queueNames,
  'send --type': ['transactional', 'marketing'],
  'sends list --status': messageStatuses,
  'suppressions add --reason': suppressionReasons,
  'suppressions import --from': products,
  'suppressions list --reason': suppressionReasons,
  'webhooks create --events': eventTypes,
  'webhooks test --type': eventTypes,
  'webinars attendees --format': ['csv', 'jsonl'],
  'webinars create --access-mode': ['registration', 'subscribers'],
  'webinars registrations --status': ['confirmed', 'waitlisted', 'cancelled'],
}
