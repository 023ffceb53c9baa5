import { describe, expect, test } from 'vitest'
import { palette } from '../../src/lib/palette.ts'
import type { Work } from '../../src/store/work.ts'
import {
  applyProjects,
  deleteProject,
  findProject,
  type Links,
  loadVersion,
  renderProject,
  sampleProject,
} from '../../src/studio/studio.ts'
import { useAccount, useApp } from '../support/app.ts'
import { buttonsIn, expectMailRules, imagesIn } from '../support/mail-rules.ts'
import { projectOf, testLinks } from './support.ts'

const t = useApp()
const account = useAccount(t)

const apply = async (document: unknown) =>
  (await t.app.work(account.id, 'cli:test', (work) => applyProjects(work, [document])))[0]!

const render = async (document: unknown, mergeData: Record<string, string> = {}, links: Partial<Links> = {}) => {
  const { id, version } = await apply(document)
  return renderProject(t.app, {
    accountId: account.id,
    id: id!,
    version,
    mergeData,
    links: { ...testLinks, ...links },
    nowMs: 0,
  })
}

const evil = `"><script>alert(1)</script><img src=x onerror='alert(2)'> & {{ other }}`
const evilHtml =
  '&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=x onerror=&#39;alert(2)&#39;&gt; &amp; {{ other }}'

const field = { name: 'a', label: 'Label {{ x }}', type: 'text' }
/** A block for each place that contains text of an author. */
const places: [string, object][] = [
  ['heading', { type: 'heading', props: { text: 'T {{ x }}' } }],
  ['text', { type: 'text', props: { text: 'T {{ x }}' } }],
  ['alt text', { type: 'image', props: { src: 'https://x.example/a.png', alt: 'T {{ x }}' } }],
  ['button', { type: 'button', props: { label: 'T {{ x }}', url: 'https://x.example' } }],
  ['vote', { type: 'vote', props: { question: 'T {{ x }}', options: ['A {{ x }}', 'B'] } }],
  ['rating', { type: 'rating', props: { question: 'T {{ x }}', max: 3 } }],
  ['quiz', { type: 'quiz', props: { question: 'T {{ x }}', options: ['A {{ x }}', 'B'], correct: 0 } }],
  ['form', { type: 'form', props: { title: 'T {{ x }}', fields: [field] } }],
  [
    'booking',
    {
      type: 'booking',
      props: {
        title: 'T {{ x }}',
        durationMinutes: 30,
        timezone: 'UTC',
        availability: [{ day: 1, from: '09:00', to: '10:00' }],
        days: 7,
      },
    },
  ],
  [
    'checkout',
    {
      type: 'checkout',
      props: { title: 'T {{ x }}', items: [{ name: 'I {{ x }}', quantity: 1, amount: 5 }], currency: 'EUR' },
    },
  ],
]

describe('merge tags', () => {
  test.each(places)('in a %s their values are escaped in HTML and literal in text', async (_, block) => {
    const { html, text } = await render(projectOf([block]), { x: evil, other: 'EXPANDED TWICE' })
    expect(html).toContain(`T ${evilHtml}`)
    expect(html).not.toContain('<script')
    expect(html).not.toContain('<img src=x')
    expect(html + text).not.toContain('EXPANDED TWICE')
    expect(text).toContain(`T ${evil}`)
  })

  test.each(places)(
    'in a %s a fallback stands for a missing or empty value, and is escaped like it',
    async (_, block) => {
      const withFallback = JSON.parse(JSON.stringify(block).replaceAll('{{ x }}', '{{ x | \\"<i>\\" }}'))
      for (const data of [{}, { x: '' }]) {
        const { html, text } = await render(projectOf([withFallback]), data)
        expect(html).toContain('T &lt;i&gt;')
        expect(html).not.toContain('<i>')
        expect(text).toContain('T <i>')
      }
      expect((await render(projectOf([withFallback]), { x: 'Ada' })).text).toContain('T Ada')
    },
  )

  test('a fallback in a link is percent-encoded in a parameter, and an unsafe one has no effect', async () => {
    const urls = [
      'https://example.com/?to={{ x | "a b&c" }}',
      '{{ x | "https://example.com/start" }}',
      '{{ x | "javascript:alert(1)" }}',
    ]
    const document = projectOf(urls.map((url) => ({ type: 'button', props: { label: 'Go', url } })))
    const { html } = await render(document, {}, { click: (url) => url })
    expect(html).toContain('href="https://example.com/?to=a%20b%26c"')
    expect(html).toContain('href="https://example.com/start"')
    expect(html).not.toContain('javascript')
  })

  test.each(places)('in a %s the author’s markup is escaped', async (_, block) => {
    const written = JSON.parse(JSON.stringify(block).replaceAll('{{ x }}', `<i title='&amp;'>`))
    const { html } = await render(projectOf([written]))
    expect(html).toContain('T &lt;i title=&#39;&amp;amp;&#39;&gt;')
    expect(html).not.toContain('<i ')
  })

  test('are filled in name and preheader too; a subject is one line', async () => {
    const document = projectOf([{ type: 'spacer' }], { name: 'Hello {{ x }}', preheader: 'For {{ x }}' })
    const mail = await render(document, { x: '<b>\r\nBcc: eve@example.com' })
    expect(mail.subject).toBe('Hello <b> Bcc: eve@example.com')
    expect(mail.preheader).toBe('For <b>\r\nBcc: eve@example.com')
    expect(mail.html).toContain('<title>Hello &lt;b&gt;\r\nBcc: eve@example.com</title>')
    expect(mail.html).toContain('For &lt;b&gt;\r\nBcc')
  })

  test('an unknown tag is empty, even if its name is a property of Object.prototype', async () => {
    const names = ['nobody', '__proto__', 'constructor', 'toString', '']
    const tags = names.map((name) => `[{{ ${name} }}]`).join('')
    const { html, text } = await render(projectOf([{ type: 'text', props: { text: tags } }]), {})
    expect(html).toContain('[][][][][]')
    expect(text).toContain('[][][][][]')
  })

  test('text that looks like a placeholder of the renderer stays text', async () => {
    const { html } = await render(projectOf([{ type: 'text', props: { text: 'mark0x {{ x }}' } }]), {
      x: 'mark1x $& $1',
    })
    expect(html).toContain('mark0x mark1x $&amp; $1')
  })
})

describe('URLs', () => {
  const button = (url: string) => projectOf([{ type: 'button', props: { label: 'Go', url } }])
  const hrefsOf = (html: string) =>
    Array.from(html.matchAll(/href="([^"]*)"/g), ([, href]) => href!.replaceAll('&amp;', '&'))
  const seen = async (url: string, data: Record<string, string>) => {
    const clicked: string[] = []
    const { html, text } = await render(button(url), data, {
      click: (target) => {
        clicked.push(target)
        return target
      },
    })
    return { hrefs: hrefsOf(html).filter((href) => href !== testLinks.view), clicked, text }
  }

  test.each([
    ['{{ url }}', 'https://example.com/a?b=c&d', 'https://example.com/a?b=c&d'],
    ['{{ url }}', 'mailto:ada@example.com', 'mailto:ada@example.com'],
    ['{{ url }}/x', 'https://example.com', 'https://example.com/x'],
    ['https://example.com/{{ url }}', 'a/b', 'https://example.com/a/b'],
    ['https://example.com/{{ url }}', '"><script>', 'https://example.com/%22%3E%3Cscript%3E'],
    [
      'https://example.com/?mail={{ url }}&b=1',
      'ada+1@example.com&admin=1',
      'https://example.com/?mail=ada%2B1%40example.com%26admin%3D1&b=1',
    ],
    ['https://example.com/?a=1#b={{ url }}', 'x y', 'https://example.com/?a=1#b=x%20y'],
  ])('%s with %j links to the expected URL', async (url, value, target) => {
    const { hrefs, clicked, text } = await seen(url, { url: value })
    expect(hrefs).toEqual([target])
    expect(new Set(clicked)).toEqual(new Set([target]))
    expect(text).toContain(target)
  })

  test.each([
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    ' javascript:alert(1)',
    '\tjavascript:alert(1)',
    'java\nscript:alert(1)',
    '\u0001javascript:alert(1)',
    'javascript://example.com/%0aalert(1)',
    'data:text/html,<script>alert(1)</script>',
    'vbscript:x',
    'file:///etc/passwd',
    '//example.com',
    '/path',
    'https://',
    '',
  ])('a merged URL %j is dropped', async (url) => {
    const { hrefs, clicked, text } = await seen('{{ url }}', { url })
    expect(hrefs).toEqual(['#'])
    expect(clicked).toEqual([])
    expect(text).not.toContain('script:')
  })

  test('applies to images too', async () => {
    const image = (data: string) =>
      render(projectOf([{ type: 'image', props: { src: '{{ src }}', alt: 'A', href: '{{ src }}' } }]), { src: data })
    expect((await image('javascript:alert(1)')).html).toMatch(/<a[^>]*href="#"[\s\S]*<img[^>]*src=""/)
    expect((await image('https://example.com/a.png')).html).toContain('src="https://example.com/a.png"')
  })
})

describe('links', () => {
  const answers = projectOf([
    { id: 'vote', type: 'vote', props: { question: 'Q', options: ['Red & {{ x }}', 'B'] } },
    { id: 'stars', type: 'rating', props: { question: 'Q', max: 3 } },
  ])

  test('each option links to its own answer, by its text with merge tags filled', async () => {
    const asked: [string, string][] = []
    const answer = (blockId: string, value: string) => {
      asked.push([blockId, value])
      return `https://svc.test/a?"<>&n=${asked.length}`
    }
    const { html, text } = await render(answers, { x: '<b>' }, { answer })
    const inOrder = [
      ['vote', 'Red & <b>'],
      ['vote', 'B'],
      ['stars', '1'],
      ['stars', '2'],
      ['stars', '3'],
    ]
    expect(asked).toEqual([...inOrder, ...inOrder])
    expect(html).toContain('href="https://svc.test/a?&quot;&lt;&gt;&amp;n=1"')
    expect(text).toContain('- Red & <b>: https://svc.test/a?"<>&n=6')
  })

  test('blocks that are answered on the hosted page link to the page, at the block', async () => {
    const { html, text } = await render(projectOf(places.slice(-3).map(([, block]) => block)))
    for (const id of ['b0', 'b1', 'b2']) {
      expect(html).toContain(`href="https://svc.test/v/token?a=1&amp;b=2#${id}"`)
      expect(text).toContain(`https://svc.test/v/token?a=1&b=2#${id}`)
    }
  })

  test('the unsubscribe link and the open pixel are rendered only if given, without traces otherwise', async () => {
    const document = projectOf([{ type: 'spacer' }], { name: 'Footer' })
    const without = await render(document)
    expect(without.html + without.text).not.toMatch(/unsubscribe/i)
    expect(without.html).not.toContain('<img')
    const given = await render(
      document,
      {},
      { unsubscribe: 'https://svc.test/u/1?a&b', open: 'https://svc.test/t/o/1.gif' },
    )
    expect(given.html).toMatch(
      /<a href="https:\/\/svc\.test\/u\/1\?a&amp;b" class="ink-link" style="[^"]*">Unsubscribe<\/a>/,
    )
    expect(given.html).toContain('<img src="https://svc.test/t/o/1.gif" width="1" height="1" alt=""')
    expect(given.text).toContain('Unsubscribe: https://svc.test/u/1?a&b')
    expect(given.text).not.toContain('.gif')
  })

  test('the email loads nothing from other hosts', async () => {
    const { html } = await render(
      projectOf([{ type: 'text', props: { text: 'x' } }], { theme: { font: 'Roboto, Open Sans' } }),
    )
    expect(html).not.toMatch(/@import|<link|fonts\.googleapis/)
    expect(html.match(/https?:\/\/[^/"]+/g)?.filter((origin) => !/w3\.org|svc\.test/.test(origin))).toEqual([])
  })
})

describe('versions', () => {
  const say = (text: string) => projectOf([{ type: 'text', props: { text } }], { name: 'Versions' })
  const stored = (id: string) =>
    t.app.sql<{ version: number; renderer: number | null }>(
      'select version, renderer from project_versions where account_id = $1 and project_id = $2 order by 1',
      [account.id, id],
    )

  test('a version is rendered once, at its first use, and stays the same when the project changes', async () => {
    const { id } = await apply(say('first'))
    const at = (version: number) =>
      renderProject(t.app, { accountId: account.id, id: id!, version, mergeData: {}, links: testLinks, nowMs: 0 })
    expect(await stored(id!)).toEqual([{ version: 1, renderer: null }])
    const [one, two] = await Promise.all([at(1), at(1)])
    expect(one).toEqual(two)
    expect(await stored(id!)).toEqual([{ version: 1, renderer: 10 }])
    await apply(say('second'))
    expect((await at(2)).text).toContain('second')
    expect(await at(1)).toEqual(one)
  })

  test('ten concurrent applies of one file create one project with one version', async () => {
    const applied = await Promise.all(
      Array.from({ length: 10 }, () => apply(projectOf([{ type: 'spacer' }], { name: 'Ten' }))),
    )
    expect(new Set(applied.map(({ id }) => id)).size).toBe(1)
    expect(applied.filter(({ outcome }) => outcome === 'created')).toHaveLength(1)
    expect(await stored(applied[0]!.id!)).toHaveLength(1)
  })

  test('a language that no program knows, which earlier versions accepted, is English', async () => {
    const props = { title: 'T', items: [{ name: 'Mug', quantity: 1, amount: 1_234.5 }], currency: 'EUR' }
    const { id } = await apply(projectOf([{ type: 'checkout', props }], { name: 'Language', lang: 'de' }))
    await t.app.sql(
      `update project_versions set content = content || '{"lang":"de-DE-DE"}' where account_id = $1 and project_id = $2`,
      [account.id, id],
    )
    const ref = { accountId: account.id, id: id!, version: 1, mergeData: {}, links: testLinks, nowMs: 0 }
    const mail = await renderProject(t.app, ref)
    for (const part of [mail.html, mail.text]) expect(part).toContain('€1,234.50')
  })

  test('a template of an earlier renderer is rendered again', async () => {
    const { id } = await apply(projectOf([{ type: 'text', props: { text: 'new' } }], { name: 'Older' }))
    await t.app.sql(
      `update project_versions set renderer = 0, template = '{"subject":[],"preheader":[],"html":["old"],"text":["old"]}'
       where account_id = $1 and project_id = $2`,
      [account.id, id],
    )
    const mail = await renderProject(t.app, {
      accountId: account.id,
      id: id!,
      version: 1,
      mergeData: {},
      links: testLinks,
      nowMs: 0,
    })
    expect(mail.text).toContain('new')
    expect(await stored(id!)).toEqual([{ version: 1, renderer: 10 }])
  })

  test('a deleted project is not found, and its sent emails stay', async () => {
    const { id } = await apply(say('sent'))
    const { version } = await apply(say('never sent'))
    const inWork = <T>(run: (work: Work) => Promise<T>) => t.app.work(account.id, 'cli:test', run)
    await inWork((work) => deleteProject(work, id!))
    for (const ref of [id!, 'Versions'])
      await expect(inWork((work) => findProject(work, ref))).rejects.toMatchObject({ kind: 'not_found' })
    await expect(inWork((work) => deleteProject(work, id!))).rejects.toMatchObject({ kind: 'not_found' })
    const { blocks } = await inWork((work) => loadVersion(work, id!, version - 1))
    expect(blocks).toMatchObject([{ props: { text: 'sent' } }])
    const ref = { accountId: account.id, id: id!, version: version - 1 }
    expect((await renderProject(t.app, { ...ref, mergeData: {}, links: testLinks, nowMs: 0 })).text).toContain('sent')
  })

  test('a version of another account or one that does not exist is not found', async () => {
    const { id } = await apply(say('mine'))
    const stranger = await t.account()
    const of = (accountId: string, version: number) =>
      renderProject(t.app, { accountId, id: id!, version, mergeData: {}, links: testLinks, nowMs: 0 })
    await expect(of(stranger.id, 1)).rejects.toMatchObject({ kind: 'not_found' })
    await expect(of(account.id, 99)).rejects.toMatchObject({ kind: 'not_found' })
  })
})

test('an email keeps the rules of Outlook and Gmail, and its text part reads like an email', async () => {
  const sample = sampleProject('https://example.com/a.png')
  const { html, text } = await render(sample, { name: 'Ada', email: 'ada@example.com' })
  expectMailRules(html)
  // One main button: the answers of blocks are outlined.
  const filled = buttonsIn(html).filter(({ cell }) => cell.bgcolor !== '#ffffff')
  expect(filled.map(({ cell }) => cell.bgcolor)).toEqual([palette.light.act])
  expect(imagesIn(html)[0]?.src).toBe('https://example.com/logo.png')
  expect(text).toMatch(/^Welcome aboard Ada\n\nGood to have you with us\./)
  expect(text).toContain('Start here:\nhttps://svc.test/t/c/token?to=')
  expect(text).toContain('Which colour should the sail have?\n- Red: https://svc.test/v/token?block=colour&value=Red\n')
  expect(text).toContain('2 × Enamel mug: €25.00\nPostage: €4.00\nTotal: €29.00\n')
  expect(text).toMatch(/\n-- \nView this email in your browser: https:\/\/svc\.test\/v\/token\?a=1&b=2\n$/)
  expect(text).not.toMatch(/\n{3}|<|\{\{/)
})
