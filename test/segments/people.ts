import type { TestAccount, TestApp } from '../support/app.ts'

/* People with everything that filters compare, written as rows, so that each has the times that a test wants. */

export interface Person {
  email: string
  status: 'active' | 'pending'
  verification: string | null
  fields: Record<string, string>
  created: Date
  updated: Date
  sent: { at: Date; project: string; broadcast: string | null }[]
  bounced: { at: Date; project: string; broadcast: string | null }[]
  /** `block` and `value` of answers; the value of a click is its URL. */
  interactions: {
    kind: string
    at: Date
    project: string
    broadcast: string | null
    isBot?: boolean
    block?: string
    value?: unknown
  }[]
  score: { points: number; at: Date } | null
  deals: { stage: string; status: 'open' | 'won' | 'lost'; value: number }[]
  webinars: { id: string; status: 'confirmed' | 'waitlisted' | 'cancelled' }[]
  courses: { id: string; active: boolean }[]
  /** Topics that it left; '': everything. */
  left: string[]
  /** What programs reported. */
  events: { name: string; at: Date }[]
  suppressed: ('complained' | 'bounced' | 'manual')[]
  /** It is in the list "Others", too. */
  isInOthers: boolean
}

export const person = (email: string, given: Partial<Person> = {}): Person => ({
  ...{ email, status: 'active', verification: null, fields: {}, created: new Date(0), updated: new Date(0) },
  ...{ sent: [], bounced: [], interactions: [], score: null, deals: [], webinars: [], courses: [], left: [] },
  ...{ events: [], suppressed: [], isInOthers: false },
  ...given,
})

export const columns = ['first_name', 'First name', 'plan', 'age', 'renewal', 'in']

/** Writes an account's list, its people, and what they refer to. Ids are made of `mark`, so that accounts don't share them. */
export const writePeople = async (
  { app: { sql } }: TestApp,
  { id: account }: TestAccount,
  people: readonly Person[],
  { mark = '', list = 'People' } = {},
): Promise<string> => {
  /** The rows of each table by their columns. */
  const inserts = new Map<string, unknown[][]>()
  const insert = (table: string, row: Record<string, unknown>) => {
    const all = { account_id: account, ...row }
    inserts.getOrInsertComputed(`${table} (${Object.keys(all)})`, () => []).push(Object.values(all))
  }
  const at = new Date(0)
  const listId = `lst_${mark}`
  insert('contact_lists', {
    ...{ id: listId, name: list, fields: columns, row_count: people.length, created_at: at, updated_at: at },
  })
  const others = `lst_others${mark}`
  insert('contact_lists', {
    ...{ id: others, name: 'Others', fields: ['city'], row_count: 0, created_at: at, updated_at: at },
  })
  for (const [name, id] of [
    ['Welcome', `prj_1${mark}`],
    ['News', `prj_2${mark}`],
  ])
    insert('projects', { id, name, version: 1, created_at: at, updated_at: at })
  for (const id of ['bct_1', 'bct_2'])
    insert('broadcasts', {
      ...{ id: `${id}${mark}`, status: 'done', name: `Mail ${id}`, list_id: listId, project_id: `prj_2${mark}` },
      ...{ recipients: 0, created_at: at, finished_at: at },
    })
  insert('pipelines', { id: `pipe_1${mark}`, name: 'Sales', is_default: true, created_at: at })
  for (const [position, name] of ['Lead', 'Talks', 'Won', 'Lost'].entries())
    insert('stages', {
      ...{ id: `stg_${name}${mark}`, pipeline_id: `pipe_1${mark}`, name, position },
      kind: name === 'Won' ? 'won' : name === 'Lost' ? 'lost' : 'open',
    })
  for (const id of ['web_1', 'web_2'])
    insert('webinars', {
      ...{ id: `${id}${mark}`, title: `Title ${id}`, access_mode: 'registration', status: 'scheduled' },
      ...{ registered_count: 0, waitlisted_count: 0, last_number: 0, created_at: at, updated_at: at },
    })
  for (const id of ['crs_1', 'crs_2'])
    insert('courses', {
      id: `${id}${mark}`,
      title: `Title ${id}`,
      published: true,
      created_at: at,
      updated_at: at,
    })
  for (const id of ['top_1', 'top_2'])
    insert('topics', { id: `${id}${mark}`, name: `Topic ${id}`, description: '', created_at: at })
  insert('topics', { id: `top_0${mark}`, name: 'Deleted', description: '', created_at: at, deleted_at: at })
  let made = 0
  const next = (prefix: string) => `${prefix}_${String(++made).padStart(6, '0')}${mark}`
  for (const one of people) {
    const rowId = next('row')
    const { email } = one
    insert('addresses', {
      ...{ email, row_id: rowId, domain: email.split('@').at(-1), verification_status: one.verification },
      ...{ verification_reasons: one.verification && [], verified_at: one.verification && at },
    })
    insert('contacts', {
      ...{ row_id: rowId, list_id: listId, email, fields: one.fields, status: one.status },
      ...{ created_at: one.created, updated_at: one.updated },
    })
    if (one.isInOthers)
      insert('contacts', {
        ...{ row_id: rowId, list_id: others, email, fields: { city: one.fields.plan ?? '' }, status: 'active' },
        ...{ created_at: at, updated_at: at },
      })
    const mail = ({ at, project, broadcast }: Person['sent'][number], status: string) => {
      const id = next('msg')
      insert('messages', {
        ...{
          id,
          key: broadcast && `broadcast:${broadcast}${mark}:${rowId}${made}`,
          source_kind: 'send',
          type: 'marketing',
        },
        ...{ email, subject: '', project_id: `${project}${mark}`, status, created_at: at },
        finished_at: status === 'pending' ? null : at,
      })
      return id
    }
    for (const sent of one.sent) mail(sent, 'sent')
    mail({ at: new Date(1e12), project: 'prj_1', broadcast: null }, 'failed')
    mail({ at: new Date(1e12), project: 'prj_1', broadcast: null }, 'pending')
    for (const bounced of one.bounced)
      insert('message_reports', {
        ...{ message_id: mail({ ...bounced, at: new Date(0) }, 'failed'), fingerprint: 'f', kind: 'hard' },
        created_at: bounced.at,
      })
    for (const { kind, at, project, broadcast, isBot = false, block = '', value = null } of one.interactions)
      insert('interactions', {
        ...{
          message_id: mail({ at: new Date(0), project, broadcast }, 'failed'),
          kind,
          block_id: block,
          link: '',
        },
        ...{ is_bot: isBot, id: next('int'), project_id: `${project}${mark}`, email, at },
        value: JSON.stringify(value),
      })
    if (one.score) insert('lead_scores', { email, points: one.score.points, at: one.score.at, is_hot: false })
    for (const { stage, status, value } of one.deals)
      insert('deals', {
        ...{ id: next('deal'), title: '', value, currency: 'USD', pipeline_id: `pipe_1${mark}`, moves: 0 },
        ...{ stage_id: `stg_${stage}${mark}`, status, source: 'manual', list_id: listId, row_id: rowId, email },
        ...{ created_at: at, updated_at: at },
      })
    for (const { id, status } of one.webinars)
      insert('webinar_registrations', {
        ...{ id: next('reg'), webinar_id: `${id}${mark}`, email, name: '', status, number: made },
        ...{ created_at: at, updated_at: at },
      })
    for (const { name, at } of one.events) insert('activities', { id: next('act'), email, name, at })
    for (const reason of one.suppressed) insert('suppressions', { email, reason, created_at: at })
    for (const id of one.left)
      insert('suppressions', {
        ...{ email, reason: 'unsubscribed', topic_id: id && `${id}${mark}`, created_at: at },
      })
    if (one.courses.length > 0) {
      const memberId = next('sub')
      insert('members', { id: memberId, email, created_at: at })
      for (const { id, active } of one.courses)
        insert('enrolments', {
          member_id: memberId,
          course_id: `${id}${mark}`,
          active,
          created_at: at,
          updated_at: at,
        })
    }
  }
  for (const [into, rows] of inserts) {
    // A statement has at most 65,535 parameters.
    for (let from = 0; from < rows.length; from += 1_000) {
      const params: unknown[] = []
      const lines = rows.slice(from, from + 1_000).map((row) => `(${row.map((value) => `$${params.push(value)}`)})`)
      await sql(`insert into ${into} values ${lines}`, params)
    }
  }
  return listId
}
