import { z } from 'zod'
import { ContactShape } from '../events/shapes.ts'
import { created, existed, ok, route } from '../http/route.ts'
import { emailAddress } from '../lib/address.ts'
import { epochMs } from '../lib/common-shapes.ts'
import { withMaxItems } from '../lib/max-items.ts'
import { idText } from '../lib/text.ts'
import { columnNames, EmailInput, givenNamesMax, normalizeFields } from './contacts.fields.ts'
import { findContacts } from './contacts.find.ts'
import { listLists, requireList } from './lists/lists.ts'
import { eraseContact, leaveList } from './write/remove.ts'
import { upsertBatch, upsertContact } from './write/upsert.ts'

const ListId = idText().describe('Id of the list')

const ContactListShape = z
  .object({
    id: z.string().describe('Id of the list'),
    name: z.string().describe('Name of the list, unique in the account'),
    fields: z.array(z.string()).describe('Names of its columns, at most 40'),
    rowCount: z.int().describe('Number of its contacts'),
    createdAt: epochMs('When it was created'),
    updatedAt: epochMs('When its name, its columns or the number of its contacts last changed'),
  })
  .meta({ id: 'ContactList', description: 'A list of contacts' })

const Upserted = z
  .object({
    created: z.int().describe('Number of addresses that were added to the list'),
    updated: z.int().describe('Number of addresses that the list had, also without a change'),
    skipped: z.int().describe('Number of new addresses that the plan has no room for'),
    contact: ContactShape.optional().describe('The contact; only after a call with one contact'),
  })
  .meta({ id: 'ContactUpsertResult', description: 'What a call wrote' })

const Lookup = z.object({
  email: emailAddress().describe('The address to look up'),
  listId: ListId.optional().describe('Only the contact in this list. Default: those in all lists'),
})

const OneContact = z.object({
  listId: ListId,
  email: EmailInput,
  fields: withMaxItems(z.record(z.string().meta(columnNames), z.unknown()), givenNamesMax)
    .optional()
    .describe(
      'Column name (1 to 100 characters) to string (at most 10,000 characters), number, boolean or null; nested values are ignored. New names become columns. Default: no change',
    ),
})

const oneToFiveHundred = 'must have 1 to 500 items'

const Item = z.looseObject({ email: EmailInput }).meta({ propertyNames: columnNames })

const hasContacts = (body: unknown): body is { contacts: unknown } =>
  typeof body === 'object' && body !== null && 'contacts' in body

/** One form of the body. A body that is not meant to have this form gets only a type error, not the errors of its properties. */
const formOf = <Shape extends z.ZodType>(isMeant: (body: unknown) => boolean, shape: Shape) =>
  z.preprocess((body, context) => {
    if (isMeant(body)) {
      if (hasContacts(body) && 'email' in body)
        context.issues.push({
          code: 'custom',
          path: ['email'],
          input: body,
          message: "can't be combined with contacts",
        })
      return body
    }
    context.issues.push({
      code: 'invalid_type',
      expected: 'object',
      input: body,
      message: 'Invalid input: expected object',
    })
    return z.NEVER
  }, shape)

const Batch = z.object({
  listId: ListId,
  contacts: withMaxItems(z.array(Item).min(1, oneToFiveHundred).max(500), 500, oneToFiveHundred).describe(
    '1 to 500 contacts. Every property except `email` is a column name with its value',
  ),
})

/** A body with `contacts` is a batch. */
const Body = z
  .union([
    formOf(hasContacts, Batch).meta({ title: 'batch' }),
    formOf((body) => !hasContacts(body), OneContact).meta({ title: 'one contact' }),
  ])
  .meta({
    examples: [
      { listId: 'lst_…', email: 'ada.okafor@northwind.example', fields: { first_name: 'Ada', plan: 'pro' } },
      { listId: 'lst_…', contacts: [{ email: 'ada.okafor@northwind.example', first_name: 'Ada' }] },
    ],
  })

/** GET and POST /contacts, GET /lists, removal and erasure of addresses (docs/reference/api.md#contacts). */
export const routes = [
  route({
    name: 'findContacts',
    method: 'GET',
    path: '/contacts',
    summary: 'Look up an address in every list, or in one',
    query: Lookup,
    answers: {
      200: z.object({
        contacts: z.array(ContactShape).describe('Most recently updated first; empty if no list has the address'),
      }),
    },
    refusals: [404],
    handle: async ({ app, caller, query }) => {
      const { accountId, keyId } = caller
      const reader = { sql: app.sql, database: app.database, accountId, actor: `key:${keyId}`, now: app.now() }
      return ok({ contacts: await findContacts(reader, query) })
    },
  }),
  route({
    name: 'upsertContacts',
    method: 'POST',
    path: '/contacts',
    takesLarge: true,
    summary: 'Create or update one contact, or up to 500, in a list',
    body: Body,
    answers: { 200: Upserted, 201: Upserted },
    refusals: [404, 409],
    handle: async ({ app, caller, body }) => {
      const actor = `key:${caller.keyId}`
      if ('contacts' in body) {
        const names = new Map<string, string>()
        const contacts = body.contacts.map((item, i) => ({
          email: item.email,
          fields: normalizeFields(item, ['contacts', i], { names, except: 'email' }),
        }))
        return ok(await upsertBatch(app, caller.accountId, actor, { listId: body.listId, contacts }))
      }
      const fields = normalizeFields(body.fields ?? {}, ['fields'])
      const result = await upsertContact(app, caller.accountId, actor, {
        listId: body.listId,
        email: body.email,
        fields,
      })
      return result.created === 1 ? created(result) : ok(result)
    },
  }),
  route({
    name: 'listLists',
    method: 'GET',
    path: '/lists',
    summary: 'List the lists of the account by name',
    answers: { 200: z.object({ lists: z.array(ContactListShape).describe('By name') }) },
    handle: async ({ app, caller }) => ok({ lists: await listLists({ sql: app.sql, accountId: caller.accountId }) }),
  }),
  route({
    name: 'removeContact',
    method: 'DELETE',
    path: '/lists/:id/contacts/:email',
    summary: 'Remove an address from a list; from its last list it leaves the account. No event fires',
    params: z.object({ id: ListId, email: EmailInput }),
    answers: { 200: z.object({ deleted: z.boolean().describe('false: it was not in the list') }) },
    refusals: [404],
    handle: async ({ params, work }) =>
      ok({
        deleted: await work(async (w) => {
          await requireList(w, params.id)
          return (await leaveList(w, params.id, params.email)) !== null
        }),
      }),
  }),
  route({
    name: 'eraseAddress',
    method: 'POST',
    path: '/erasures',
    summary: 'Erase an address and everything that is stored about it; no event fires',
    body: z.object({ email: EmailInput }).meta({ examples: [{ email: 'ada.okafor@northwind.example' }] }),
    answers: { 200: z.object({ erased: z.boolean().describe('false: nothing was stored about it') }) },
    handle: async ({ app, body, work }) => {
      const personalData = await app.personalData()
      const erase = () => work((w) => eraseContact(w, body.email, { dryRun: false, personalData }))
      return ok({ erased: await existed(erase) })
    },
  }),
]
