import createClient from 'openapi-fetch'
import type { components, paths } from './api.ts'

type Contact = components['schemas']['Contact']

/** The calls of the README, and those that take more, by a client that was made from the document alone. */
export const makeCalls = async (baseUrl: string, key: string, listId: string) => {
  const client = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${key}` } })

  const { data: lists } = await client.GET('/api/v1/lists')
  const names: string[] | undefined = lists?.lists.map(({ name }) => name)

  const email = 'ada@example.org'
  const upserted = await client.POST('/api/v1/contacts', { body: { listId, email, fields: { first_name: 'Ada' } } })
  const contact: Contact | undefined = upserted.data?.contact
  await client.POST('/api/v1/contacts', {
    body: { listId, contacts: [{ email: 'bob@example.org', first_name: 'Bob' }] },
  })
  const found = await client.GET('/api/v1/contacts', { params: { query: { email } } })

  const headers = { 'Idempotency-Key': 'a first deal' }
  const body = { title: 'Annual plan', email, value: '1200.50' }
  const deal = await client.POST('/api/v1/deals', { params: { header: headers }, body })
  const again = await client.POST('/api/v1/deals', { params: { header: headers }, body })
  const id = deal.data?.deal.id ?? ''
  const changed = await client.PATCH('/api/v1/deals/{id}', { params: { path: { id } }, body: { value: 9 } })

  const sample = await client.GET('/api/v1/events/sample', { params: { query: { type: 'deal.created' } } })
  const [event] = sample.data?.events ?? []
  const sampled = event?.type === 'deal.created' ? event.data.deal.currency : undefined

  const sent = await client.POST('/api/v1/send', {
    body: { to: email, subject: 'Hello', html: '<p>Hello</p>', text: 'Hello' },
  })
  const refused: components['schemas']['Error'] | undefined = sent.error

  // What the document refuses does not compile.
  // @ts-expect-error listId is required
  const incomplete = await client.POST('/api/v1/contacts', { body: { email } })
  // @ts-expect-error there is no such event
  await client.GET('/api/v1/events/sample', { params: { query: { type: 'deal.lost' } } })
  // @ts-expect-error there is no such path
  await client.GET('/api/v1/nothing')
  // @ts-expect-error the recipient is required, and has another name
  await client.POST('/api/v1/send', { body: { too: 1 } })
  // @ts-expect-error the title is required
  await client.POST('/api/v1/deals', { body: { titel: 'Annual plan', email } })
  // @ts-expect-error a value is a number or a text
  await client.PATCH('/api/v1/deals/{id}', { params: { path: { id } }, body: { value: true } })
  // @ts-expect-error the address is required
  await client.POST('/api/v1/webhooks', { body: { events: ['deal.created'] } })

  return {
    names,
    created: upserted.data?.created,
    contact: contact?.fields,
    found: found.data?.contacts.length,
    deals: [deal.data?.created, again.data?.created, again.response.headers.get('Idempotent-Replayed')],
    value: changed.data?.deal.value,
    sampled,
    refused: refused?.error,
    incomplete: [incomplete.response.status, incomplete.error?.error],
  }
}
