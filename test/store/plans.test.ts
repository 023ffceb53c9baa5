import { afterAll, beforeAll, expect, test } from 'vitest'
import { admit } from '../../src/accounts/accounts.ts'
import { type OpenApp, openApp } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/config.ts'
import { findContacts } from '../../src/contacts/contacts.find.ts'
import { shareKnown } from '../../src/contacts/write/write.statement.ts'
import { readState } from '../../src/engagement/interactions/interactions.record.ts'
import { findProjectMail, queueMessage } from '../../src/messages/messages.ts'
import { useAccount, useApp } from '../support/app.ts'

/** Uses one connection, so that the test sees all its prepared statements. */
let app: OpenApp

const t = useApp()
const account = useAccount(t)
beforeAll(async () => {
  app = await openApp(readConfig(t.env), { connections: 1 })
})
afterAll(() => app.close())

// PostgreSQL makes a custom plan for each of the first five executions. It continues if it expects the parameters to help.
const customPlans = 5

const hot: [statement: string, call: () => Promise<unknown>][] = [
  ['admit', () => admit(app, account.key, 'contacts', 60)],
  [
    'insert-messages',
    () =>
      app.work(account.id, 'key:test', (work) =>
        queueMessage(app, work, {
          ...{ to: 'ada@acme.test', type: 'transactional', key: null, source: { kind: 'send', id: null } },
          content: { html: '<p>Hello</p>', text: 'Hello' },
        }),
      ),
  ],
  [
    'share-known-addresses',
    () =>
      app.work(account.id, 'key:test', ({ sql }) =>
        sql(shareKnown, { accountId: account.id, emails: ['ada@acme.test'] }),
      ),
  ],
  [
    'find-contacts',
    () =>
      findContacts({ ...app, accountId: account.id, actor: 'key:test', now: app.now() }, { email: 'ada@acme.test' }),
  ],
  ['answer-states', () => readState(app, { accountId: account.id, id: 'msg_none' })],
  ['project-mails', () => findProjectMail(app, account.id, 'msg_none')],
]

test.each(hot)('the statement %s uses its generic plan after five executions for single calls', async (name, call) => {
  for (let n = 0; n < 12; n++) await call()
  const plans = await app.sql(
    'select custom_plans as custom, generic_plans as generic from pg_prepared_statements where name = $1',
    [name],
  )
  expect(plans).toEqual([{ custom: customPlans, generic: 12 - customPlans }])
})
