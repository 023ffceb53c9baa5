import { describe, expect, test } from 'vitest'
import { ok } from '../support/app.ts'
import { answer, engagedAccount, person, sendProject, useEngaged } from '../support/engagement.ts'

const { t, sink } = useEngaged()

const button = (url: string, more: object = {}) => ({ type: 'button', props: { label: url, url }, ...more })
const file = {
  name: 'Offer',
  blocks: [
    button('https://x.example/first', { id: 'one', showIf: 'plan = pro' }),
    button('https://x.example/{{ name }}', { id: 'two' }),
    { id: 'box', type: 'section', showIf: 'plan = pro', children: [button('https://x.example/inside', { id: 'in' })] },
    button('https://x.example/last', { id: 'three' }),
    { id: 'rate', type: 'rating', showIf: 'plan = pro', props: { question: 'How?', max: 5 } },
    { id: 'vote', type: 'vote', showIf: 'plan != pro', props: { question: 'Which?', options: ['a', 'b'] } },
  ],
}
const send = async (mergeData: Record<string, string>) => {
  const account = await engagedAccount(t, file)
  return { account, mail: await sendProject(t, sink, account, { mergeData: { name: 'Ada', ...mergeData } }) }
}

const follow = async (path: string) => (await t.request('GET', path as '/docs', { headers: person })).headers.location
/** The links that were followed, by a person or, as fast as here, by what counts as a machine. */
const clicked = (accountId: string) =>
  t.app.sql<{ block: string; value: string }>(
    `select distinct on (link) block_id as block, value from interactions where account_id = $1 and kind = 'click' order by link`,
    [accountId],
  )

describe('a hidden block', () => {
  test('each link leads to its own URL, shown or hidden blocks before it', async () => {
    for (const [plan, urls] of [
      ['pro', ['first', 'Ada', 'inside', 'last']],
      ['', ['Ada', 'last']],
    ] as const) {
      const { account, mail } = await send({ plan })
      const expected = urls.map((url) => `https://x.example/${url}`)
      const html = [...new Set(mail.clicks)]
      expect(await Promise.all(html.map(follow))).toEqual(expected)
      const inText = [...mail.text.matchAll(/https:\/\/svc\.example(\/t\/c\/\S+)/g)].map(([, path]) => path!)
      expect(await Promise.all(inText.map(follow))).toEqual(expected)
      expect((await clicked(account.id)).map(({ block }) => block)).toEqual(
        plan === 'pro' ? ['one', 'two', 'in', 'three'] : ['two', 'three'],
      )
    }
  })

  test('links still lead to their URLs once the content was dropped', async () => {
    const { account, mail } = await send({ plan: 'pro' })
    // As the retention does: only the fields that links need stay.
    await t.app.sql(`update messages set merge_data = '{"name":"Ada"}', dropped_at = now() where account_id = $1`, [
      account.id,
    ])
    expect(await Promise.all(mail.clicks.map(follow))).toEqual(
      ['first', 'Ada', 'inside', 'last'].map((url) => `https://x.example/${url}`),
    )
    expect((await clicked(account.id)).map(({ block }) => block)).toEqual(['one', 'two', 'in', 'three'])
  })

  test('is in neither the live view nor its page, and no condition is', async () => {
    const { mail } = await send({ plan: '' })
    const { body } = await ok(t.request('GET', `/liveview/${mail.token}` as '/liveview/:token'))
    expect(body.blocks.map(({ id }) => id)).toEqual(['two', 'three', 'vote'])
    expect(JSON.stringify(body)).not.toContain('showIf')
    const { body: page } = await ok(t.request('GET', mail.view as '/docs'))
    expect(String(page)).toContain('Which?')
    expect(String(page)).not.toContain('How?')
    const pro = await send({ plan: 'pro' })
    const { body: all } = await ok(t.request('GET', `/liveview/${pro.mail.token}` as '/liveview/:token'))
    expect(all.blocks.map(({ id }) => id)).toEqual(['one', 'two', 'box', 'three', 'rate'])
  })

  test('can not be answered: 404 as for an unknown block, in the API and on the page, and nothing is recorded', async () => {
    const { account, mail } = await send({ plan: '' })
    const unknown = await answer(t, mail, 'nothing', 5)
    expect(unknown.status).toBe(404)
    expect(await answer(t, mail, 'rate', 5)).toMatchObject({ status: 404, body: unknown.body })
    const headers = { 'content-type': 'application/x-www-form-urlencoded', ...person }
    const posted = await t.request('POST', mail.view as '/contacts', { body: 'block=rate&value=5', headers })
    expect(posted.status).toBe(404)
    expect(await t.app.sql(`select from interactions where account_id = $1`, [account.id])).toEqual([])
    expect(await t.events(account.id)).toEqual([])
    expect((await answer(t, mail, 'vote', 'a')).status).toBe(200)
  })
})
