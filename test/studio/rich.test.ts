import { expect, test } from 'vitest'
import { richLinks } from '../../src/studio/studio.rich.ts'
import { applyProjects, type Links, linksIn, loadTemplate, renderProject, textHtml } from '../../src/studio/studio.ts'
import { useAccount, useApp } from '../support/app.ts'
import { projectOf, testLinks } from './support.ts'

const t = useApp()
const account = useAccount(t)

const apply = async (blocks: readonly object[]) =>
  (await t.app.work(account.id, 'cli:test', (work) => applyProjects(work, [projectOf(blocks)])))[0]!

const render = async (
  blocks: readonly object[],
  mergeData: Record<string, string> = {},
  links: Partial<Links> = {},
) => {
  const { id, version } = await apply(blocks)
  const ref = { accountId: account.id, id: id!, version }
  return renderProject(t.app, { ...ref, mergeData, links: { ...testLinks, ...links }, nowMs: 0 })
}

const textBlock = (text: string) => ({ type: 'text', props: { text } })
const plainLinks = { click: (url: string) => url }

test('a text is CommonMark: bold, emphasis, code, links, paragraphs and lists', async () => {
  const text =
    'Dear **Ada**, *this* `a < b` is [our *site*](https://x.example/?a=1&b=2).\nNext\n\n- one\n- two\n\n3. three\n4. four\n\nEnd'
  const { html, text: plain } = await render([textBlock(text)], {}, plainLinks)
  expect(html).toContain(
    'Dear <strong>Ada</strong>, <em>this</em> <code style="font-family:monospace">a &lt; b</code> is ',
  )
  expect(html).toMatch(/<a href="https:\/\/x.example\/\?a=1&amp;b=2" [^>]*>our <em>site<\/em><\/a>.<br>Next<\/p>/)
  expect(html).toMatch(/<ul [^>]*><li [^>]*>one<\/li><li [^>]*>two<\/li><\/ul>/)
  expect(html).toMatch(/<ol start="3" [^>]*><li [^>]*>three<\/li><li [^>]*>four<\/li><\/ol>/)
  expect(html).toContain('<p style="margin:0">End</p>')
  expect(plain).toContain(
    'Dear Ada, this a < b is our site (https://x.example/?a=1&b=2).\nNext\n\n- one\n- two\n\n3. three\n4. four\n\nEnd\n',
  )
})

test('an empty list item leaves nothing to the text after its list', async () => {
  const { html, text } = await render([textBlock('-\n\nEnd'), textBlock('1. one\n2.\n\nEnd')])
  expect(html).toMatch(/<ul [^>]*><li [^>]*><\/li><\/ul>/)
  expect(text).toContain('End\n\n1. one\n\nEnd\n')
})

test('a text without markup is what it was', async () => {
  const { html, text } = await render([textBlock('A & "b" <i>\'c\'</i>\nd\n\ne # f')])
  expect(html).toContain(
    '<p style="margin:0 0 12px">A &amp; &quot;b&quot; &lt;i&gt;&#39;c&#39;&lt;/i&gt;<br>d</p>\n<p style="margin:0">e # f</p>',
  )
  expect(text).toContain('A & "b" <i>\'c\'</i>\nd\n\ne # f\n')
})

test('headings, quotes, pictures, tables and HTML are no markup', async () => {
  const html = await textHtml('# a\n\n> b\n\n![c](https://x.example/c.png)\n\n<b onclick="x">d</b>\n\n    e', {})
  expect(html).not.toMatch(/<(h1|blockquote|img|b|pre)\b/)
  expect(html).toContain('<p># a</p>')
})

test.each([
  'javascript:alert(1)',
  'data:text/html,x',
  '/relative',
  'JaVaScRiPt:x',
  '&#106;avascript:x',
  'vbscript:x',
  'ftp://x.example',
])('an address that is no link stays text: %s', async (url) => {
  expect(await textHtml(`[x](${url}) <${url}>`, {})).not.toContain('<a ')
})

test('values of merge fields are no markup, and an unsafe address has no effect', async () => {
  const data = { name: '**b** [x](https://evil.example) <i>', url: 'javascript:alert(1)', id: 'a b&c', a_b_c: '1' }
  const html = await textHtml(
    '{{ name }} {{ a_b_c }} [go]({{ url }}) [to](https://x.example/?n={{ id }}) **{{ none | "_x_" }}**',
    data,
  )
  expect(html).toBe(
    '<p>**b** [x](https://evil.example) &lt;i&gt; 1 <a href="#" rel="noopener noreferrer">go</a> <a href="https://x.example/?n=a%20b%26c" rel="noopener noreferrer">to</a> <strong>_x_</strong></p>',
  )
})

test('links of texts are tracked, and leave the numbers of others as they are', async () => {
  const button = { type: 'button', props: { label: 'B', url: 'https://x.example/b' } }
  const { id, version } = await apply([
    textBlock('[t](https://x.example/t) [b](https://x.example/b) <https://x.example/t>'),
    button,
  ])
  const found = linksIn(await loadTemplate(t.app, { accountId: account.id, id: id!, version }), {})
  expect([...found].map(([number, { url }]) => [number, url])).toEqual([
    [10_000, 'https://x.example/t'],
    [10_001, 'https://x.example/b'],
    [0, 'https://x.example/b'],
  ])
  const { html } = await render([textBlock('[t](https://x.example/t?n={{ n }})')], { n: '1' })
  expect(html).toContain(testLinks.click('https://x.example/t?n=1', ''))
})

test('the fields in the links of a text are known', () => {
  expect(richLinks('[a](https://x.example/{{ a }}) {{ b }} [c]({{ c | "d" }})')).toEqual([
    'https://x.example/{{ a }}',
    '{{ c | "d" }}',
  ])
})

test('a marketing email ends with the postal address of the account, and no other does', async () => {
  const postalAddress = 'Shop <Co>\n1 Main Street'
  const marketing = await render([textBlock('Hi')], {}, { unsubscribe: 'https://svc.test/u/1', postalAddress })
  expect(marketing.html).toContain('Shop &lt;Co&gt;<br>1 Main Street')
  expect(marketing.text).toMatch(/Unsubscribe: https:\/\/svc.test\/u\/1\n\nShop <Co>\n1 Main Street\n$/)
  const transactional = await render([textBlock('Hi')], {}, { postalAddress })
  expect(transactional.html + transactional.text).not.toContain('Main Street')
  const without = await render([textBlock('Hi')], {}, { unsubscribe: 'https://svc.test/u/1' })
  expect(without.text).toMatch(/Unsubscribe: https:\/\/svc.test\/u\/1\n$/)
  expect(without.html).not.toContain('<br><br>')
})
