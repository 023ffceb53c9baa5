import { accountOf, emailOf, idOf, now, timeOf } from './content.ts'

/** The rows that take a resealed secret, by the context that they are sealed for. */
const resealed: Record<string, (k: number) => string> = {
  'delivery_targets-sealed_secret': (k) => idOf('target', k),
  'delivery_targets-former_sealed_secret': (k) => idOf('target', k),
  'relays-sealed_password': () => accountOf('m'),
  'domains-sealed_key': (k) => `${accountOf('m')} domain ${k} of m`,
  'bounce_mailboxes-sealed_password': () => `bounces ${accountOf('m')}`,
  'payment_providers-sealed_key': () => accountOf('m'),
  'payment_providers-sealed_webhook_secret': () => accountOf('m'),
  'payment_providers-former_sealed_key': () => accountOf('m'),
  'payment_providers-former_sealed_webhook_secret': () => accountOf('m'),
}

/** Parameters that do not follow from the text of a statement, by its name and their names or numbers, for set k. */
export const given: Record<string, (k: number) => Record<string | number, unknown>> = {
  'add-contacts': () => ({
    emails: ['new@m.example'],
    rowIds: [idOf('row', 500)],
    results: ['valid'],
    fields: '{}',
    statuses: ['active'],
  }),
  'blank-deliveries-of-calls': (k) => ({ 2: [idOf('run', k)] }),
  'cancel-erased-calls': (k) => ({ 2: [idOf('run', k)] }),
  'claim-messages': (k) => ({
    requests: [{ accountId: accountOf('m'), batch: k % 2 ? idOf('broadcast', k) : '', capacity: 9, since: 0 }],
  }),
  'count-first-report': () => ({ metric: 'bounced' }),
  'delete-past-entries-of-address': () => ({ 3: 'gone@m.example' }),
  'drop-contents': () => ({ kept: ['[]'] }),
  'export-deliveries-of-callers': (k) => ({ 2: [idOf('run', k)] }),
  'find-failed-confirm-mails': () => ({ mailedAt: now }),
  'find-absent-delivery': (k) => ({ 2: [idOf('dlv', k), idOf('dlv', 99)] }),
  'import-account': () => ({
    row: { id: idOf('account', 1), name: 'new', plan: 'x', contact_count: 0, created_at: now },
  }),
  'insert-deliveries': () => ({
    3: [idOf('dlv', 500)],
    9: [idOf('evt', 500)],
    10: ['contact.created'],
    11: '{}',
  }),
  'end-of-page-of-list': () => ({ skipped: 0 }),
  'end-of-sends': () => ({ skipped: 0 }),
  'end-of-suppressions': () => ({ skipped: 0 }),
  'insert-messages': () => ({
    batch: '',
    id: [idOf('message', 500)],
    key: ['new'],
    sourceKind: ['send'],
    type: ['marketing'],
    mergeData: [null],
    headers: [null],
    copy: [null],
    scheduledAt: [null],
    error: [null],
  }),
  'insert-rejects': () => ({ rejects: [{ line: 500, email: emailOf(0), reason: 'x' }] }),
  'limits-nearly-reached': () => ({ share: 0.01 }),
  'lock-call-targets': (k) => ({ 5: ['new', 'x'], 6: [idOf('target', 500), idOf('target', k)] }),
  'lock-changed': (k) => ({ 3: [{ email: emailOf(k), fields: { x: 1 } }] }),
  'next-in-doubt': (k) => ({ domain: `domain ${k} of m` }),
  'read-attachment': () => ({ from: 1 }),
  'record-moves': (k) => ({ 3: [{ runId: idOf('run', k), stepNo: 500, step: 'x', kind: 'x', outcome: 'x' }] }),
  'record-presence': (k) => ({ times: [timeOf(k)] }),
  'take-quotas': () => ({ 3: [1] }),
  'settle-calls': (k) => ({ rows: [{ id: idOf('dlv', k), delivery: { id: idOf('dlv', k) } }] }),
  ...Object.fromEntries(
    Object.entries(resealed).map(([name, contextOf]) => [
      `reseal-${name}`,
      (k: number) => ({ 1: [{ context: contextOf(k), sealed: 'x' }] }),
    ]),
  ),
}

interface Exceptions {
  /** What the check finds of each statement. */
  finding: string
  why: string
  names: string
}

/** The statements that are not for one account. */
export const exceptions: readonly Exceptions[] = [
  {
    finding: 'names no account, reaches others',
    why: 'Jobs look for what is due in any account.',
    names: `accounts-of-result-changes due-booking-reminders due-reminders fair-due find-broadcasts find-due-domains
      find-due-messages find-failed-confirm-mails find-leftovers next-in-doubt oldest-due pending-suppressions
      schedule-late-targets`,
  },
  {
    finding: 'names no account, reaches others',
    why: 'Housekeeping lists the accounts that it keeps one after the other, and deletes old windows of all keys.',
    names: 'accounts-to-keep delete-old-rate-windows',
  },
  {
    finding: 'reaches others without its optional parameters',
    why: 'Housekeeping works on the rows of all accounts at once, and on those of one if that fails.',
    names: `add-up-tallies delete-deleted-topics delete-expired-signups delete-old-busy-calendars drop-old-texts
      drop-run-data find-accounts-with-old-access_log find-accounts-with-old-activities find-old-contents
      find-old-deliveries find-old-imports-with-rejects find-unfinished-list-deletions forget-former-secrets
      lock-deleted-targets lock-old-imports purge-runs purge-versions unfinished-course-deletions
      unfinished-form-deletions unfinished-journey-deletions`,
  },
  {
    finding: 'names no account, reaches others',
    why: 'Commands and metrics for the operator of the installation show all accounts.',
    names: `count-deliveries-by-status count-messages-by-status find-accounts-by-end first-accounts limits-nearly-reached list-accounts
      read-depths-of-queues read-relays faulty-busy-calendars`,
  },
  {
    finding: 'names no account, reaches others',
    why: 'The rotation of the secret seals the secrets of all accounts again.',
    names: `read-bounce_mailboxes-sealed_password read-delivery_targets-former_sealed_secret
      read-delivery_targets-sealed_secret read-domains-sealed_key read-payment_providers-former_sealed_key
      read-payment_providers-former_sealed_webhook_secret read-payment_providers-sealed_key
      read-payment_providers-sealed_webhook_secret read-relays-sealed_password`,
  },
  {
    finding: 'names no account, reaches others',
    why: 'Anyone can open the page to register; the id tells the account.',
    names: 'find-public-webinar',
  },
  {
    finding: 'names no account',
    why: 'A key, a slug, a form, a token or a client address tells the account.',
    names: 'account-of-slug admit admit-client admit-write find-public-form',
  },
  {
    finding: 'names no account',
    why: 'Jobs pass ids that they have read before and that are unique in the installation.',
    names: `cancel-leftovers claim-deliveries delete-old-imports delete-targets-without-deliveries
      lock-targets-without-deliveries record-use-of-keys reseal-delivery_targets-former_sealed_secret
      reseal-delivery_targets-sealed_secret summarize-targets`,
  },
  {
    finding: 'names no account',
    why: 'They return no content of an account, or create one.',
    names: `find-account-of-name find-any-account find-later-broadcast first-due first-due-booking-reminder first-due-reminder
      import-account insert-account walk-in-order`,
  },
  {
    finding: 'reaches others without its optional parameters',
    why: 'A job reads the mailboxes of all accounts, a command that of one.',
    names: 'find-due-mailboxes',
  },
  {
    finding: 'has no effect: no row is returned or changed',
    why: 'It finds deleted accounts only.',
    names: 'find-closed-accounts',
  },
  {
    finding: 'has no effect: no row is returned or changed',
    why: 'It is true only after the hidden link of an email was followed, or three links at once.',
    names: 'is-message-scanned',
  },
  {
    finding: 'has no effect: no row is returned or changed',
    why: 'They find exported accounts only.',
    names: 'clear-mark-of-export mark-account-exported mark-account-exporting read-moves',
  },
  {
    finding: 'reaches others for a new account, reaches others by :slug',
    why: 'A slug is unique in the installation: the statement refuses that of another account.',
    names: 'set-slug',
  },
  {
    finding: 'reaches others for a new account, reaches others by :ids',
    why: 'Ids of targets are unique in the installation: the statement inserts none that another account has.',
    names: 'lock-call-targets',
  },
  {
    finding: 'reaches others by :stageId',
    why: 'The caller has locked the stage that deals move to among those of the account (src/deals/deals.target.ts).',
    names: 'move-deals update-deal create-deal-email create-deal-row',
  },
]
