import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type TestAccount, useApp } from '../../support/app.ts'
import { svc } from '../../support/cli.ts'

let account: TestAccount
let folder: string

const t = useApp()
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-import-from-'))
  await t.app.sql(`insert into mail_domains values ('example.org', 'mx', now() + interval '1 day')`)
})
afterAll(() => rm(folder, { recursive: true, force: true }))
beforeEach(async () => {
  account = await t.account()
})

const file = async (content: string | Buffer, name = 'export.csv'): Promise<string> => {
  const path = join(folder, name)
  await writeFile(path, content)
  return path
}

const run = (...args: string[]) => svc(t, ['--account', account.id, ...args])

interface Given {
  name?: string
  args?: string[]
}
const importFrom = async (vendor: string, content: string | Buffer, { name, args = [] }: Given = {}) =>
  run(
    ...['contacts', 'import', await file(content, name), '--list', 'L', '--create-list', '--json', '--from', vendor],
    ...args,
  )

interface Row {
  email: string
  status: string
  fields: Record<string, string>
}
const contacts = () =>
  t.app.sql<Row>('select email, status, fields from contacts where account_id = $1 order by email', [account.id])

/** Suppressions as `address reason since`; a time of today is `now`. */
const suppressions = async () => {
  const rows = await t.app.sql<{ email: string; reason: string; at: Date }>(
    `select email, reason, created_at as at from suppressions where account_id = $1 and topic_id = '' order by email, reason`,
    [account.id],
  )
  const since = (at: Date) => (Math.abs(at.getTime() - t.app.now().getTime()) < 60_000 ? 'now' : at.toISOString())
  return rows.map(({ email, reason, at }) => `${email} ${reason} ${since(at)}`)
}

const leftTopics = async () => {
  const rows = await t.app.sql<{ email: string; name: string }>(
    `select s.email, p.name from suppressions s join topics p on p.id = s.topic_id
     where s.account_id = $1 order by s.email, p.name`,
    [account.id],
  )
  return rows.map(({ email, name }) => `${email} ${name}`)
}

const suppress = (email: string, reason = 'manual') => run('suppressions', 'add', email, '--reason', reason)

const mailchimpHeader =
  'Email Address,First Name,Last Name,MEMBER_RATING,OPTIN_TIME,OPTIN_IP,CONFIRM_TIME,CONFIRM_IP,GMTOFF,DSTOFF,TIMEZONE,CC,REGION'
const member = (email: string, name: string) =>
  `${email},${name},Doe,2,"2024-02-01 09:00:00",192.0.2.1,"2024-02-01 09:05:00",192.0.2.1,1,2,Europe/Berlin,DE,BE`

interface Export {
  vendor: string
  what: string
  content: string
  name?: string
  args?: string[]
  /** Topics that people left. */
  left?: string[]
  /** Of the first contact. */
  fields?: Record<string, string>
  active: string[]
  pending?: string[]
  suppressed?: string[]
}

const mailchimpFields = {
  ...{ first_name: 'Ann', last_name: 'Doe', MEMBER_RATING: '2', OPTIN_IP: '192.0.2.1', CONFIRM_IP: '192.0.2.1' },
  ...{ TIMEZONE: 'Europe/Berlin', CC: 'DE', REGION: 'BE', NOTES: '', tags: 'vip, early bird' },
  ...{ consent_source: 'Mailchimp', consent_at: '2024-02-01T09:05:00Z' },
}

const exports: Export[] = [
  {
    vendor: 'mailchimp',
    what: 'subscribed contacts, with tags and consents',
    // mailchimp.com/developer/marketing/docs/account-exports: a ZIP of files. No page of theirs lists the columns; cleaned means bounced
    // (mailchimp.com/help/about-cleaned-contacts). Programs that read such files have these names and headers, such as
    // github.com/buren/honey_format (spec/honey_format/csv_spec.rb) and github.com/dosomething/mbc-user-import.
    name: 'subscribed_email_audience_export_1a2b3c.csv',
    content: `\ufeff${mailchimpHeader},LAST_CHANGED,LEID,EUID,NOTES,TAGS
${member('a@example.org', 'Ann')},"2024-03-01 00:00:00",1,abc,,"""vip"",""early bird"""
`,
    fields: mailchimpFields,
    active: ['a@example.org'],
  },
  {
    vendor: 'mailchimp',
    what: 'unsubscribed contacts',
    name: 'unsubscribed_email_audience_export_1a2b3c.csv',
    content: `${mailchimpHeader},UNSUB_TIME,UNSUB_CAMPAIGN_TITLE,UNSUB_CAMPAIGN_ID,UNSUB_REASON,UNSUB_REASON_OTHER,LEID,EUID,NOTES,TAGS
${member('u@example.org', 'Uma')},"2025-01-02 03:04:05",News,c1,NORMAL,,1,abc,,
${member('v@example.org', 'Vic')},,,,,,1,abc,,
`,
    active: [],
    suppressed: ['u@example.org unsubscribed 2025-01-02T03:04:05.000Z', 'v@example.org unsubscribed now'],
  },
  {
    vendor: 'mailchimp',
    what: 'cleaned contacts of a file with another name',
    content: `${mailchimpHeader},CLEAN_TIME,CLEAN_CAMPAIGN_TITLE,CLEAN_CAMPAIGN_ID,LEID
${member('c@example.org', 'Cid')},"2025-01-02 03:04:05",News,c1,1
`,
    active: [],
    suppressed: ['c@example.org bounced 2025-01-02T03:04:05.000Z'],
  },
  {
    vendor: 'mailchimp',
    what: 'contacts that never subscribed',
    name: 'nonsubscribed_email_audience_export_1a2b3c.csv',
    content: `${mailchimpHeader}\n${member('n@example.org', 'Nia')}\n`,
    active: [],
    pending: ['n@example.org'],
  },
  {
    vendor: 'hubspot',
    what: 'contacts by the labels of their properties',
    // knowledge.hubspot.com/marketing-email/import-an-opt-out-list: "the Unsubscribed from all email property … will be set to true";
    // …/kcs_article/email/once-a-new-email-type-is-created-when-will-a-corresponding-contact-property-be-created: a property for each
    // kind, "Opted out of email: [email type name]"; its internal name is hs_email_optout_ and the number of the kind.
    content: `Record ID,First Name,Email,Marketing contact status,Unsubscribed from all email,Email hard bounce reason,Legal basis for processing contact's data
1,Ann,a@example.org,Marketing contact,false,,Freely given consent from contact
2,Uma,u@example.org,Marketing contact,true,,
3,Bob,b@example.org,Marketing contact,,UNKNOWN_USER,
4,Nia,n@example.org,Non-marketing contact,,,
5,Eve,e@example.org,Marketing contact,true,UNKNOWN_USER,
`,
    fields: {
      ...{ first_name: 'Ann', 'Marketing contact status': 'Marketing contact' },
      consent_source: 'Freely given consent from contact',
    },
    active: ['a@example.org'],
    pending: ['n@example.org'],
    suppressed: [
      ...['b@example.org bounced now', 'e@example.org bounced now', 'e@example.org unsubscribed now'],
      'u@example.org unsubscribed now',
    ],
  },
  {
    vendor: 'hubspot',
    what: 'unsubscribes and bounces',
    // knowledge.hubspot.com/articles/kcs_article/contacts/what-do-the-columns-mean-in-csv-i-receive-when-i-export-unsubscribes-and-bounces:
    // the last columns are kinds of email, "TRUE means the recipient unsubscribed from that email type". Portal Bounce has the reason
    // (…/how-can-i-delete-contacts-who-have-unsubscribed-or-hard-bounce).
    content: `Email,Portal Bounce,Portal Unsubscribe,Portal Spam Report,Global Bounce,Marketing Information,Monthly news
b@example.org,UNKNOWN_USER,FALSE,FALSE,FALSE,FALSE,FALSE
u@example.org,,TRUE,,,TRUE,TRUE
s@example.org,,,TRUE,,,
g@example.org,,,,TRUE,,
t@example.org,,FALSE,,,FALSE,TRUE
`,
    fields: {},
    active: ['t@example.org'],
    left: ['t@example.org Monthly news', 'u@example.org Marketing Information', 'u@example.org Monthly news'],
    suppressed: [
      ...['b@example.org bounced now', 'g@example.org bounced now', 's@example.org complained now'],
      'u@example.org unsubscribed now',
    ],
  },
  {
    vendor: 'brevo',
    what: 'contacts with EMAIL_BLACKLISTED, separated by semicolons',
    // developers.brevo.com/reference/create-contact: attributes in capitals, SMS is the mobile number;
    // developers.brevo.com/reference/request-contact-export: the metadata _listIds, ADDED_TIME and MODIFIED_TIME
    content: `CONTACT ID;EMAIL;FIRSTNAME;SMS;DOUBLE_OPT-IN;OPT_IN;EMAIL_BLACKLISTED;SMS_BLACKLISTED;ADDED_TIME;MODIFIED_TIME
1;a@example.org;Ann;491700;1;;0;0;05-03-2024 14:22:33;2025-01-02 03:04:05
2;u@example.org;Uma;;;1;1;0;05-03-2024 14:22:33;02-01-2025 03:04:05
3;z@example.org;Zed;;No;;false;;05-03-2024 14:22:33;
`,
    fields: {
      ...{
        first_name: 'Ann',
        phone: '491700',
        'DOUBLE_OPT-IN': '1',
        OPT_IN: '',
        SMS_BLACKLISTED: '0',
        ADDED_TIME: '05-03-2024 14:22:33',
      },
      ...{ consent_source: 'double opt-in', consent_at: '2024-03-05T14:22:33Z' },
    },
    active: ['a@example.org', 'z@example.org'],
    suppressed: ['u@example.org unsubscribed 2025-01-02T03:04:05.000Z'],
  },
  {
    vendor: 'listmonk',
    what: 'subscribers with JSON attributes, whose subscriptions it does not have',
    // github.com/knadh/listmonk, cmd/subscribers.go, ExportSubscribers: the header, and times as Go's Time.String() writes them, whose last
    // part is the name of the zone, or its offset again if it has no name.
    args: ['--assume-subscribed'],
    content: `uuid,email,name,attributes,status,created_at,updated_at
1-2,a@example.org,Ann,"{""city"":""Bonn"",""tags"":[""vip"",""early""],""n"":3,""home"":{""zip"":1},""email"":""x""}",enabled,2024-03-05 14:22:33.123456 +0000 UTC,2024-03-05 14:22:33.123456 +0000 UTC
1-3,u@example.org,Uma,{},blocklisted,2024-03-05 14:22:33.123456 +0000 UTC,2025-01-02 04:04:05.5 +0100 CET
1-4,d@example.org,Dan,{},disabled,2024-03-05 14:22:33 +0000 UTC,2024-03-05 14:22:33 +0000 UTC
1-5,v@example.org,Vic,{},blocklisted,2024-03-05 14:22:33 +0000 +0000,2025-01-02 08:34:05.123 +0530 +0530
`,
    fields: {
      ...{ name: 'Ann', created_at: '2024-03-05 14:22:33.123456 +0000 UTC' },
      ...{ city: 'Bonn', tags: 'vip, early', n: '3', home: '{"zip":1}' },
    },
    active: ['a@example.org'],
    pending: ['d@example.org'],
    suppressed: ['u@example.org manual 2025-01-02T03:04:05.000Z', 'v@example.org manual 2025-01-02T03:04:05.000Z'],
  },
  {
    vendor: 'listmonk',
    what: 'subscriptions',
    // github.com/knadh/listmonk, schema.sql: subscriber_status and subscription_status
    content: `email,status,subscription_status,subscription_created_at,subscription_updated_at
a@example.org,enabled,confirmed,2024-03-05T14:22:33Z,2024-03-05T14:22:33Z
u@example.org,enabled,unsubscribed,2024-03-05T14:22:33Z,2025-01-02T03:04:05Z
p@example.org,enabled,unconfirmed,2024-03-05T14:22:33Z,2024-03-05T14:22:33Z
`,
    fields: { consent_source: 'listmonk', consent_at: '2024-03-05T14:22:33Z' },
    active: ['a@example.org'],
    pending: ['p@example.org'],
    suppressed: ['u@example.org unsubscribed 2025-01-02T03:04:05.000Z'],
  },
  {
    vendor: 'listmonk',
    what: 'subscriptions, as the query of the hint writes them',
    // psql writes the offset of the session's time zone, without its minutes if they are 0.
    content: `email,name,attribs,status,subscription_status,subscription_created_at,subscription_updated_at
a@example.org,Ann,{},enabled,confirmed,2024-03-05 14:22:33.123456+00,2024-03-05 14:22:33.123456+00
u@example.org,Uma,{},enabled,unsubscribed,2024-03-05 14:22:33+00,2025-01-02 08:34:05.5+05:30
v@example.org,Vic,{},enabled,unsubscribed,2024-03-05 14:22:33+00,2025-01-01 22:04:05-05
`,
    fields: { name: 'Ann', consent_source: 'listmonk', consent_at: '2024-03-05T14:22:33Z' },
    active: ['a@example.org'],
    suppressed: [
      'u@example.org unsubscribed 2025-01-02T03:04:05.000Z',
      'v@example.org unsubscribed 2025-01-02T03:04:05.000Z',
    ],
  },
  {
    vendor: 'resend',
    what: 'contacts',
    // resend.com/docs/dashboard/audiences/contacts: first_name, last_name, unsubscribed ("from all Broadcasts"), properties
    content: `id,created_at,first_name,last_name,email,unsubscribed
1,2024-03-05 14:22:33.123+00,Ann,Doe,a@example.org,false
2,2024-03-05 14:22:33.123+00,Uma,Doe,u@example.org,true
`,
    fields: { created_at: '2024-03-05 14:22:33.123+00', first_name: 'Ann', last_name: 'Doe' },
    active: ['a@example.org'],
    suppressed: ['u@example.org unsubscribed now'],
  },
  {
    vendor: 'plunk',
    what: 'contacts with JSON data',
    // docs.useplunk.com/concepts/contacts: subscribed, createdAt and updatedAt are its own keys, all others are in data. It writes no CSV
    // (github.com/useplunk/plunk at 07cea20); these are the columns of the model Contact in prisma/schema.prisma.
    content: `id,email,subscribed,data,createdAt,updatedAt
1,a@example.org,true,"{""firstName"":""Ann"",""plan"":""pro""}",2024-03-05T14:22:33.000Z,2024-03-05T14:22:33.000Z
2,u@example.org,false,"{""firstName"":""Uma""}",2024-03-05T14:22:33.000Z,2025-01-02T03:04:05.000Z
`,
    fields: { createdAt: '2024-03-05T14:22:33.000Z', first_name: 'Ann', plan: 'pro' },
    active: ['a@example.org'],
    suppressed: ['u@example.org unsubscribed 2025-01-02T03:04:05.000Z'],
  },
]

describe('reads the export', () => {
  test.each(exports)(
    'of $vendor: $what',
    async ({ vendor, content, name, args = [], fields, active, pending = [], suppressed = [], left = [] }) => {
      const people = new Set(suppressed.map((text) => text.split(' ')[0]))
      const created = active.length + pending.length
      const ran = await importFrom(vendor, content, { ...(name !== undefined && { name }), args })
      expect(ran).toMatchObject({ status: 0, json: { created, rejected: 0, suppressed: people.size } })
      const rows = await contacts()
      expect(rows.filter(({ status }) => status === 'active').map(({ email }) => email)).toEqual(active)
      expect(rows.filter(({ status }) => status === 'pending').map(({ email }) => email)).toEqual(pending)
      expect(await suppressions()).toEqual(suppressed)
      expect(await leftTopics()).toEqual(left)
      if (fields) expect(rows[0]!.fields).toEqual(fields)
    },
  )
})

const plunk = (...rows: string[]) => ['email,subscribed,name', ...rows, ''].join('\n')

describe('people', () => {
  test('who are active here and unsubscribed there are suppressed, and keep their contact', async () => {
    await importFrom('plunk', plunk('a@example.org,true,Ann'))
    expect((await importFrom('plunk', plunk('A@example.org,false,Other'))).json).toMatchObject({ suppressed: 1 })
    expect(await contacts()).toEqual([{ email: 'a@example.org', status: 'active', fields: { name: 'Ann' } }])
    expect(await suppressions()).toEqual(['a@example.org unsubscribed now'])
  })

  test('who are suppressed here do not become active, whatever the reason', async () => {
    await suppress('a@example.org')
    await suppress('b@example.org', 'unsubscribed')
    const content = plunk('a@example.org,true,Ann', 'b@example.org,true,Bob', 'c@example.org,true,Cid')
    const dry = (await importFrom('plunk', content, { args: ['--dry-run'] })).json
    expect(dry).toMatchObject({ created: 3, pending: 2, suppressed: 0 })
    await importFrom('plunk', content)
    expect((await contacts()).map(({ email, status }) => `${email} ${status}`)).toEqual([
      ...['a@example.org pending', 'b@example.org pending', 'c@example.org active'],
    ])
    expect(await suppressions()).toEqual(['a@example.org manual now', 'b@example.org unsubscribed now'])
  })

  test('with several rows are suppressed by any of them; each row has one count', async () => {
    const content = plunk(
      'a@example.org,true,1',
      'a@example.org,true,2',
      'a@example.org,false,3',
      'b@example.org,true,',
    )
    expect((await importFrom('plunk', content)).json).toMatchObject({ created: 1, suppressed: 3, rows: 4 })
    expect((await contacts()).map(({ email }) => email)).toEqual(['b@example.org'])
  })

  test('of other accounts stay as they are', async () => {
    const other = await t.account()
    await importFrom('plunk', plunk('a@example.org,false,Ann'))
    const rows = await t.app.sql('select from suppressions where account_id = $1', [other.id])
    expect(rows).toEqual([])
  })
})

describe('refusals', () => {
  test.each([
    ['an unknown product', 'constantcontact', plunk(), /--from must be one of mailchimp/],
    ['a file that does not say who has opted out', 'hubspot', 'Email,Name\n', /Unsubscribed from all email/],
    [
      'listmonk’s own export',
      'listmonk',
      'uuid,email,name,attributes,status,created_at,updated_at\n',
      /subscription_status/,
    ],
    ['a renamed file of Mailchimp', 'mailchimp', `${mailchimpHeader}\n`, /assume-subscribed/],
    ['HubSpot’s marketing status alone', 'hubspot', 'Email,Marketing contact status\n', /Unsubscribed from all email/],
    ['a zip archive', 'mailchimp', 'PK\u0003\u0004\u0000', /unpack it/],
    ['another product’s file', 'resend', plunk('a@example.org,true,Ann'), /unsubscribed/],
  ])('%s is refused with exit 2, before anything is written', async (_, vendor, content, sentence) => {
    const ran = await importFrom(vendor, content)
    expect(ran).toMatchObject({ status: 2, stdout: '' })
    expect(ran.stderr).toMatch(sentence)
    expect((await run('lists', '--json')).json).toEqual({ lists: [] })
  })

  test('rows that cannot be read are rejected with their reason', async () => {
    const content = 'email,subscribed,data\na@example.org,true,{oops\nnobody,false,\nb@example.org,true,\n'
    const dry = await importFrom('plunk', content, { args: ['--dry-run'] })
    const refused = [
      { reason: 'data is not a JSON object', rows: 1 },
      { reason: 'no email address', rows: 1 },
    ]
    expect(dry).toMatchObject({ status: 5, json: { created: 1, rejected: 2, rejects: refused } })
    expect(await importFrom('plunk', content)).toMatchObject({ status: 5, json: { created: 1, rejected: 2 } })
    expect(await suppressions()).toEqual([])
  })

  test('JSON with too many properties is refused by the preview', async () => {
    const data = JSON.stringify(Object.fromEntries(Array.from({ length: 41 }, (_, i) => [`f${i}`, 1])))
    const content = `email,subscribed,data\na@example.org,true,"${data.replaceAll('"', '""')}"\n`
    const ran = await importFrom('plunk', content)
    expect(ran).toMatchObject({ status: 2 })
    expect(ran.stderr).toContain('at most 40 columns')
    expect(await contacts()).toEqual([])
  })
})

test('the preview shows what becomes of the rows, and --dry-run writes nothing', async () => {
  const content = `${plunk('a@example.org,true,Ann', 'u@example.org,false,Uma')}nobody,false,\n`
  const path = await file(content)
  const args = ['contacts', 'import', path, '--list', 'L', '--create-list', '--from', 'plunk']
  const dry = await run(...args, '--dry-run')
  expect(dry.status).toBe(5)
  expect(dry.stderr).toMatch(
    /1 {2}new contacts, active\n +1 {2}suppressed: unsubscribed\n +1 {2}refused: no email address/,
  )
  expect(await suppressions()).toEqual([])
  expect(await contacts()).toEqual([])
  expect((await run('imports', '--json')).json).toEqual({ imports: [] })
  const ran = await run(...args)
  expect(ran.stderr).toContain('suppressed: unsubscribed')
  expect((await run(...args, '--yes')).stderr).not.toContain('suppressed: unsubscribed')
})

test('HubSpot’s opt-outs of one kind of email become topics that these people have left', async () => {
  const content =
    'Email,Unsubscribed from all email,Opted out of email: News\na@example.org,,true\nb@example.org,,false\n'
  const dry = await importFrom('hubspot', content, { args: ['--dry-run'] })
  expect(dry.json).toMatchObject({ created: 2, left: { News: 1 }, warnings: [] })
  expect((await run('topics', 'list', '--json')).json).toEqual({ topics: [] })
  await importFrom('hubspot', content)
  await importFrom('hubspot', content)
  const { topics } = (await run('topics', 'list', '--json')).json
  expect(topics).toMatchObject([{ name: 'News' }])
  const left = await t.app.sql('select email, topic_id as topic from suppressions where account_id = $1', [account.id])
  expect(left).toEqual([{ email: 'a@example.org', topic: topics[0].id }])
  expect((await contacts()).map(({ email, status }) => `${email} ${status}`)).toEqual([
    'a@example.org active',
    'b@example.org active',
  ])
  const path = await file(
    'Email,Unsubscribed from all email,Opted out of email: Offers\na@example.org,,true\nb@example.org,,\n',
  )
  const ran = await run('suppressions', 'import', path, '--from', 'hubspot', '--json')
  expect(ran.json).toMatchObject({ rows: 2, added: 1, known: 0, skipped: 1 })
})

test('HubSpot’s opt-outs of one kind of email are topics in an export by internal names too', async () => {
  const content = 'email,hs_email_optout,hs_email_optout_8256871\na@example.org,,true\nb@example.org,,\n'
  await importFrom('hubspot', content)
  expect(await leftTopics()).toEqual(['a@example.org hs_email_optout_8256871'])
  const path = await file(content)
  const plain = await run('contacts', 'import', path, '--list', 'Plain', '--create-list', '--json')
  expect(plain.json.warnings).toEqual([
    'The column hs_email_optout_8256871 says that 1 row has opted out of email. This import made them active contacts.',
  ])
})

test('a kind of email with a long name becomes a topic whose name is cut', async () => {
  const kind = 'Newsletter'.repeat(12)
  await importFrom('hubspot', `Email,Unsubscribed from all email,Opted out of email: ${kind}\na@example.org,,true\n`)
  const { topics } = (await run('topics', 'list', '--json')).json
  expect(topics).toMatchObject([{ name: kind.slice(0, 100) }])
})

describe('a file that does not say who has opted out', () => {
  const content =
    'uuid,email,name,attributes,status,created_at,updated_at\n1,a@example.org,Ann,{},enabled,,\n2,b@example.org,Bob,{},blocklisted,,\n'

  test('is refused with exit 2, and says how to get one that does', async () => {
    const ran = await importFrom('listmonk', content)
    expect(ran.status).toBe(2)
    expect(ran.stderr).toContain('subscriber_lists')
    expect(ran.stderr).toContain('--assume-subscribed')
    expect((await run('suppressions', 'import', await file(content), '--from', 'listmonk')).status).toBe(2)
  })

  test('is taken with --assume-subscribed, also by a resume; those whom it names are suppressed', async () => {
    expect((await importFrom('listmonk', content, { args: ['--assume-subscribed'] })).json).toMatchObject({
      created: 1,
      suppressed: 1,
    })
    expect(await suppressions()).toEqual(['b@example.org manual now'])
    const [row] = await t.app.sql<{ options: object }>('select options from imports where account_id = $1', [
      account.id,
    ])
    expect(row!.options).toMatchObject({ origin: { vendor: 'listmonk', assumeSubscribed: true } })
  })

  test.each(['--assume-subscribed', '--keep-names'])('%s without --from is a mistake', async (flag) => {
    const path = await file('email\na@example.org\n')
    expect((await run('contacts', 'import', path, '--list', 'L', '--create-list', flag)).status).toBe(2)
  })
})

describe('names of fields', () => {
  const content =
    'EMAIL;EMAIL_BLACKLISTED;FIRSTNAME;LASTNAME;SMS;PHONE;COMPANY;CITY;COUNTRY\na@example.org;0;Ann;Doe;+49;+50;Acme;Bonn;DE\n'

  test('are ours, unless two columns would become one', async () => {
    await importFrom('brevo', content)
    expect((await contacts())[0]!.fields).toEqual({
      ...{
        first_name: 'Ann',
        last_name: 'Doe',
        phone: '+49',
        PHONE: '+50',
        company: 'Acme',
        city: 'Bonn',
        country: 'DE',
      },
    })
  })

  test('are the product’s with --keep-names, and those of --map where it names them', async () => {
    await importFrom('brevo', content, { args: ['--keep-names', '--map', 'SMS=mobile'] })
    expect((await contacts())[0]!.fields).toMatchObject({
      FIRSTNAME: 'Ann',
      LASTNAME: 'Doe',
      mobile: '+49',
      CITY: 'Bonn',
    })
  })

  test('of JSON properties give way to columns', async () => {
    await importFrom('plunk', 'email,subscribed,first_name,data\na@example.org,true,Ann,"{""firstName"":""Other""}"\n')
    expect((await contacts())[0]!.fields).toEqual({ first_name: 'Ann', firstName: 'Other' })
  })
})

test('a cell with two addresses is a rejected row, with and without --from, also of suppressions', async () => {
  const content =
    'Email,Unsubscribed from all email\na@example.org;b@example.org,\n"c@example.org, d@example.org",true\ne@example.org,\n'
  const rejects = [{ reason: 'two email addresses', rows: 2 }]
  expect(await importFrom('hubspot', content, { args: ['--dry-run'] })).toMatchObject({
    status: 5,
    json: { rejected: 2, rejects },
  })
  expect(await importFrom('hubspot', content)).toMatchObject({
    status: 5,
    json: { created: 1, rejected: 2, suppressed: 0 },
  })
  const path = await file(content)
  expect((await run('contacts', 'import', path, '--list', 'L', '--json')).json).toMatchObject({ rejected: 2 })
  expect((await run('suppressions', 'import', path, '--json')).json).toMatchObject({ rejected: 2, added: 1 })
})

test('warnings are in the JSON of the import and of its preview', async () => {
  const path = await file('email,status\na@example.org,unsubscribed\n')
  const args = ['contacts', 'import', path, '--list', 'L', '--create-list', '--json']
  const warning = 'The column status says that 1 row has opted out of email. This import'
  expect((await run(...args, '--dry-run')).json.warnings).toEqual([`${warning} makes them active contacts.`])
  expect((await run(...args)).json.warnings).toEqual([`${warning} made them active contacts.`])
  expect((await importFrom('plunk', plunk('b@example.org,true,Bob'))).json.warnings).toEqual([])
  const blocked = await file('email,reason\nx@example.org,whatever\n')
  const { warnings } = (await run('suppressions', 'import', blocked, '--json')).json
  expect(warnings).toEqual(['Unknown reason whatever: used manual instead.'])
})

test('a mapped column is a plain column', async () => {
  const content = 'id,email,subscribed,data\n7,a@example.org,true,\n'
  await importFrom('plunk', content, { args: ['--map', 'id=plunk_id'] })
  expect((await contacts())[0]!.fields).toEqual({ plunk_id: '7' })
})

describe('svc suppressions import', () => {
  const header = 'email,subscribed,updatedAt\n'

  test('--from suppresses those who have opted out, and skips the others', async () => {
    const path = await file(`${header}a@example.org,true,\nu@example.org,false,2025-01-02T03:04:05Z\nnobody,false,\n`)
    const ran = await run('suppressions', 'import', path, '--from', 'plunk', '--json')
    expect(ran).toMatchObject({ status: 5, json: { rows: 3, added: 1, known: 0, rejected: 1, skipped: 1 } })
    expect(await suppressions()).toEqual(['u@example.org unsubscribed 2025-01-02T03:04:05.000Z'])
    expect(await contacts()).toEqual([])
  })

  test('takes every flag of svc contacts import: those about lists and events have no effect', async () => {
    const help = async (...command: string[]) => (await run(...command, '--help')).stdout.split('Global Options')[0]!
    const flagsOf = (text: string) => [...text.matchAll(/^ {2}(?:-\w, )?(--[a-z-]+)/gm)].map(([, flag]) => flag!)
    const taken = flagsOf(await help('suppressions', 'import'))
    expect(flagsOf(await help('contacts', 'import')).filter((flag) => !taken.includes(flag))).toEqual([])
    const path = await file('email\nu@example.org\n')
    const flags = ['--list', 'New', '--create-list', '--on-conflict', 'skip', '--no-events']
    const ran = await run('suppressions', 'import', path, ...flags, '--json')
    expect(ran).toMatchObject({ status: 0, json: { rows: 1, added: 1 } })
    expect(await suppressions()).toHaveLength(1)
    expect((await run('lists', 'list', '--json')).json.lists).toEqual([])
  })

  test('a row with two reasons counts once', async () => {
    const columns = 'Email,Unsubscribed from all email,Email hard bounce reason\n'
    const path = await file(`${columns}a@example.org,true,UNKNOWN_USER\na@example.org,true,\nb@example.org,true,\n`)
    const ran = await run('suppressions', 'import', path, '--from', 'hubspot', '--json')
    expect(ran.json).toMatchObject({ rows: 3, added: 2, known: 1, rejected: 0, skipped: 0 })
    expect(await suppressions()).toEqual([
      ...['a@example.org bounced now', 'a@example.org unsubscribed now'],
      'b@example.org unsubscribed now',
    ])
  })

  test('a repeated import keeps the date; a missing or unknown reason is manual', async () => {
    const path = await file(`${header}u@example.org,false,2025-01-02T03:04:05Z\n`)
    await run('suppressions', 'import', path, '--from', 'plunk')
    const later = await file(`${header}u@example.org,false,2025-05-02T03:04:05Z\n`)
    expect((await run('suppressions', 'import', later, '--from', 'plunk', '--json')).json).toMatchObject({ known: 1 })
    await run('suppressions', 'import', await file('email,reason\nm@example.org,\nn@example.org,whatever\n'))
    expect(await suppressions()).toEqual([
      ...['m@example.org manual now', 'n@example.org manual now'],
      'u@example.org unsubscribed 2025-01-02T03:04:05.000Z',
    ])
  })
})
