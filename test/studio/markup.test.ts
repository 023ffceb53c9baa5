import { expect, test } from 'vitest'
import {
  applyProjects,
  type Links,
  linkFields,
  linksIn,
  loadTemplate,
  markupHtml,
  markupPage,
  renderProject,
} from '../../src/studio/studio.ts'
import { useAccount, useApp } from '../support/app.ts'
import { costOf } from '../support/cost.ts'
import { projectOf, testLinks } from './support.ts'

const t = useApp()
const account = useAccount(t)

const block = (html: string) => ({ type: 'html', props: { html } })
const apply = async (blocks: readonly object[], rest: object = {}) =>
  (await t.app.work(account.id, 'cli:test', (work) => applyProjects(work, [projectOf(blocks, rest)])))[0]!

const render = async (
  blocks: readonly object[],
  mergeData: Record<string, string> = {},
  links: Partial<Links> = {},
  rest: object = {},
) => {
  const { id, version } = await apply(blocks, rest)
  const ref = { accountId: account.id, id: id!, version }
  return renderProject(t.app, { ...ref, mergeData, links: { ...testLinks, ...links }, nowMs: 0 })
}

const plainLinks = { click: (url: string) => url }

/** Returns what the email shows of one block. */
const shown = async (html: string, mergeData: Record<string, string> = {}, links: Partial<Links> = plainLinks) => {
  const mail = await render([block(`<i>begin</i>${html}<i>end</i>`)], mergeData, links)
  return /<i>begin<\/i>([\s\S]*?)<i>end<\/i>/.exec(mail.html)![1]!
}

const faultsOf = async (props: object) =>
  apply([{ type: 'html', props }]).then(
    () => '',
    (thrown: Error) => thrown.message,
  )

test('tables, inline styles, headings, lists, links and pictures stay', async () => {
  const table =
    '<table role="presentation" width="100%" cellpadding="4"><tbody><tr><td colspan="2" align="right" bgcolor="#eeeeee" style="padding:4px 8px;border-bottom:1px solid #ccc">A &amp; B</td></tr></tbody></table>'
  expect(await shown(table)).toBe(table)
  expect(await shown('<h2 style="color:rgb(1, 2, 3)">T</h2><ul><li><b>x</b></li></ul>')).toBe(
    '<h1 style="color:rgb(1, 2, 3)">T</h1><ul><li><b>x</b></li></ul>',
  )
  expect(await shown('<a href="https://x.example/?a=1&amp;b=2" title="T" style="color:#00f">x</a>')).toBe(
    '<a href="https://x.example/?a=1&amp;b=2" title="T" style="color:#00f">x</a>',
  )
  expect(await shown('<img src="https://x.example/a.png" width="40">')).toBe(
    '<img src="https://x.example/a.png" width="40" alt="" style="max-width:100%">',
  )
})

test('a link without a colour has that of the text, and follows dark mode', async () => {
  expect(await shown('<a href="https://x.example/">x</a>')).toBe(
    '<a href="https://x.example/" class="ink-link" style="color:#1b1f24">x</a>',
  )
})

test.each<[string, string, string]>([
  ['a script', 'a<script>alert(1)</script>b', 'ab'],
  ['a script whose end has a blank', 'a<script>alert(1)<b>x</b></script >b', 'ab'],
  ['a style sheet', 'a<style>b{color:red}</style>b', 'ab'],
  ['a frame', 'a<iframe src="https://x.example"><b>x</b></iframe>b', 'ab'],
  ['drawings', 'a<svg><script>alert(1)</script><a href="javascript:x"><text>x</text></a></svg>b', 'ab'],
  [
    'formulas',
    'a<math><mtext><table><mglyph><style><img src=x onerror=alert(1)></style></mglyph></table></mtext></math>b',
    'ab',
  ],
  ['raw text', 'a<noscript><p title="</noscript><img src=x onerror=alert(1)>"></noscript>b', 'ab'],
  ['a form', '<form action="https://x.example"><input name="a"><button>x</button></form>', 'x'],
  [
    'objects',
    'a<object data="x"></object><embed src="x"><link href="x"><meta http-equiv="refresh" content="0"><base href="x">b',
    'ab',
  ],
  ['comments', 'a<!-- x --><!--[if mso]><b>x</b><![endif]-->b', 'ab'],
  ['handlers', '<b onclick="x" ONLOAD=x onmouseover = \'x\'>x</b>', '<b>x</b>'],
  [
    'a slash for a blank',
    '<img/src="https://x.example/a.png"/onerror=alert(1) alt="x">',
    '<img src="https://x.example/a.png" alt="x" style="max-width:100%">',
  ],
  ['names and classes', '<p id="a" class="b" name="c" data-x="d" slot="e">x</p>', '<p>x</p>'],
  ['an attribute that ends its tag', '<p title="x&quot;><script>">x</p>', '<p title="x&quot;&gt;&lt;script&gt;">x</p>'],
  ['a tag in a tag', '<scr<script>ipt>alert(1)</script>', 'ipt&gt;alert(1)'],
  ['an element that is not closed', '<div><b><u>x</div>', '<div><b><u>x</u></b></div>'],
  ['ends without a beginning', 'x</td></tr></table></div></body></html>', 'x'],
  ['cells without a table', '<td>x</td><tr><td>y</td></tr>', 'xy'],
  [
    'a table in a table',
    '<table><tr><td>x</td></tr><table><tr><td>y</td></tr></table></table>z',
    '<table><tbody><tr><td>x</td></tr></tbody></table><table><tbody><tr><td>y</td></tr></tbody></table>z',
  ],
  [
    'entities that become markup',
    '&lt;script&gt;alert(1)&lt;/script&gt;&#60;img&#62;',
    '&lt;script&gt;alert(1)&lt;/script&gt;&lt;img&gt;',
  ],
  ['MJML', '<mj-raw><b>x</b></mj-raw><mj-include path="/etc/passwd"/><mjml>y</mjml>', '<b>x</b>y'],
  [
    'a document',
    '<!doctype html><html><head><title>T</title><style>x</style></head><body onload="x"><p>x</p></body></html>',
    '<p>x</p>',
  ],
  ['a NUL in a tag', '<scr\u0001ipt>x</scr\u0001ipt>', 'x'],
])('what an email can not use is left out: %s', async (_, html, expected) => {
  expect(await shown(html)).toBe(expected)
})

test.each([
  'javascript:alert(1)',
  'JaVaScRiPt:alert(1)',
  '  javascript:alert(1)',
  'java\nscript:alert(1)',
  '&#106;avascript:alert(1)',
  'javascript&colon;alert(1)',
  'data:text/html,x',
  'vbscript:x',
  'file:///etc/passwd',
  'cid:x',
  '//x.example/a',
  '/a',
  'a',
  'https://',
])('an address that is no link has none, and a picture is left out: %s', async (url) => {
  expect(await shown(`<a href="${url}" target="_blank" ping="${url}">x</a>`)).toBe('<a>x</a>')
  expect(await shown(`a<img src="${url}" srcset="${url}" alt="x">b`)).toBe('ab')
  expect(await shown(`<table background="${url}"><tr><td>x</td></tr></table>`)).not.toContain('background')
})

test.each([
  'background:url(https://x.example/a.png)',
  'background-image:url(javascript:alert(1))',
  'background:\\75rl(x)',
  'background:u/**/rl(x)',
  'color:expression(alert(1))',
  'width:calc(100% - var(--x))',
  'behavior:url(x)',
  '-moz-binding:url(x)',
  'position:fixed',
  'position:absolute;top:0;left:0',
  'margin:-500px',
  'margin-top:-1px',
  'text-indent:-9999px',
  'z-index:9',
  'display:none',
  'display:flex',
  'opacity:0',
  'float:left',
  'content:"x"',
  '@import "x"',
  '}</style><script>alert(1)</script>{',
  'color:red}b{color:blue',
  'font-family:"a;position:fixed',
  'color:{{ x }}',
  '{{ x }}',
  '{{ x }}:red',
  '--x:1',
  'color:red/*',
])('a style that is not safe is left out: %s', async (style) => {
  const data = { x: 'red;position:fixed' }
  const html = await shown(`<p style='${style.replaceAll("'", '&#39;')}'>x</p>`, data)
  expect(html).toMatch(/^<p(?: style="color:red")?>x<\/p>$/)
})

test('of several declarations the safe ones stay', async () => {
  expect(
    await shown(
      '<p style="COLOR:Red;position:fixed;font:bold 16px/1.5 \'My Font\', Arial;background:#fff !important">x</p>',
    ),
  ).toBe('<p style="color:Red;font:bold 16px/1.5 &#39;My Font&#39;, Arial;background:#fff !important">x</p>')
})

test('a style has no line break: in a name in quotes it would end the style sheet of a page', async () => {
  const html = `<p style="font-family:'a&#10;b&#12;c';padding:1px&#13;&#10; 2px">x</p>`
  expect(await shown(html)).toBe('<p style="font-family:&#39;a b c&#39;;padding:1px 2px">x</p>')
  const { style } = await markupPage(html, {}, { last: 1, name: 'html-a', isShown: () => true })
  expect(style).toBe(".html-a .html-a-0 { font-family:'a b c';padding:1px 2px }")
})

test('values of merge fields are no markup, wherever they stand', async () => {
  const data = { x: `"><script>alert(1)</script>{{ y }}<b onclick='x'>`, url: 'javascript:alert(1)', id: 'a b&c' }
  const escaped = '&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;{{ y }}&lt;b onclick=&#39;x&#39;&gt;'
  expect(await shown('<p title="{{ x }}">{{ x }}</p>', data)).toBe(`<p title="${escaped}">${escaped}</p>`)
  expect(await shown('<{{ x }} a>y</{{ x }}><p {{ x }}="1" align="{{ x }}">z</p>', data)).toBe('y<p>z</p>')
  expect(await shown('<a href="{{ url }}">x</a> <a href="https://x.example/?n={{ id }}">y</a>', data)).toMatch(
    /^<a href="#" [^>]*>x<\/a> <a href="https:\/\/x.example\/\?n=a%20b%26c" [^>]*>y<\/a>$/,
  )
  expect(await shown('<img src="{{ url }}" alt="{{ x }}">', data)).toBe(
    `<img src="" alt="${escaped}" style="max-width:100%">`,
  )
  expect(await shown('{{ none | "<b>" }} {{{ id }}}', data)).toBe('&lt;b&gt; {a b&amp;c}')
})

test('links are tracked, numbered as those of texts, and their fields are known', async () => {
  const { id, version } = await apply([
    block('<a href="https://x.example/t?n={{ n }}">x</a><a href="mailto:a@x.example">m</a><a href="#x">y</a>'),
    { type: 'button', props: { label: 'B', url: 'https://x.example/b' } },
  ])
  const ref = { accountId: account.id, id: id!, version }
  const found = linksIn(await loadTemplate(t.app, ref), { n: '1' })
  expect([...found].map(([number, { url }]) => [number, url])).toEqual([
    [10_000, 'https://x.example/t?n=1'],
    [0, 'https://x.example/b'],
  ])
  expect(await shown('<a href="https://x.example/t">x</a>', {}, {})).toContain(
    testLinks.click('https://x.example/t', ''),
  )
  const content = projectOf([block('<a href="https://x.example/{{ a }}">{{ b }}</a> <a href="{{ c | "d" }}">x</a>')])
  expect(await linkFields(content as never)).toEqual(['a', 'c'])
})

test('the text part has the content without its markup', async () => {
  const html = `
    <h2>Prices   &amp;
      dates</h2>
    <p>Hello <b>{{ name }}</b>,<br>see <a href="https://x.example/p">our page</a> or <a href="https://x.example/q">https://x.example/q</a>.</p>
    <ul><li>one</li><li>two <a href="mailto:a@x.example">a@x.example</a></li></ul>
    <ol start="3"><li>three</li><li><p>four</p></li></ol>
    <table><tr><th>Seat</th><th>Price</th></tr><tr><td>Front</td><td>5 €</td></tr></table>
    <img src="https://x.example/a.png" alt="A harbour"><img src="https://x.example/b.png" alt="">
    <script>alert(1)</script><pre>a
  b</pre>`
  const { text } = await render([block(html), { type: 'text', props: { text: 'End' } }], { name: '<Ada>' }, plainLinks)
  expect(text).toContain(`Prices & dates

Hello <Ada>,
see our page (https://x.example/p) or https://x.example/q.

- one
- two a@x.example

3. three
4. four

Seat | Price
Front | 5 €

[A harbour]

a
  b

End
`)
})

test('headings skip no level: a screen reader reports a skipped one as a missing part', async () => {
  expect(await shown('<h3>a</h3><h5>b</h5><h3>c</h3>')).toBe('<h1>a</h1><h2>b</h2><h3>c</h3>')
  const heading = { type: 'heading', props: { text: 'After', level: 3 } }
  const { html } = await render([
    { type: 'heading', props: { text: 'Before', level: 1 } },
    block('<h1>x</h1>'),
    heading,
  ])
  expect(html).toMatch(/<h2 [^>]*>After/)
})

test('a block that sets colours keeps its light background in dark mode, another one follows the theme', async () => {
  const theme = { background: '#fffbeb', text: '#1c1917' }
  const own = await render([block('<p style="color:#333">x</p>')], {}, {}, { theme })
  expect(own.html).toMatch(/<td[^>]*class="own-colors"[^>]*style="background:#fffbeb/)
  const inside = {
    type: 'section',
    props: { background: '#fef3c7' },
    children: [{ id: 'in', ...block('<p style="background:#333">x</p>') }],
  }
  expect((await render([inside], {}, {}, { theme })).html).toMatch(/class="own-colors"[^>]*style="background:#fef3c7/)
  const none = await render([block('<p style="padding:4px">x</p>')], {}, {}, { theme })
  expect(none.html).not.toContain('class="own-colors"')
})

test.each<[string, object, RegExp]>([
  ['no html', {}, /props\.html is required/],
  ['an empty one', { html: '' }, /props\.html/],
  ['another type', { html: 5 }, /props\.html/],
  ['another property', { html: '<b>x</b>', css: 'x' }, /css/],
  ['more than 50,000 characters', { html: '<b>x</b>'.repeat(6_251) }, /props\.html must be at most 50000 characters/],
  [
    'nothing that an email can show',
    { html: '<script>alert(1)</script> <style>x</style>' },
    /props\.html has nothing that an email can show/,
  ],
])('is refused: %s', async (_, props, message) => {
  expect(await faultsOf(props)).toMatch(message)
})

test('all blocks of a project have at most 200,000 characters of HTML', async () => {
  const blocks = Array.from({ length: 5 }, () => block('<b>x</b>'.repeat(5_001)))
  await expect(apply(blocks)).rejects.toThrow('blocks must have at most 200000 characters of HTML in all')
})

const hostile: [string, string][] = [
  ['nested elements', '<b>'.repeat(16_000)],
  ['nested elements with attributes', '<b title="1"><p>'.repeat(3_000)],
  ['nested lists', '<ul><li>'.repeat(6_000)],
  ['nested tables', '<table><tr><td>'.repeat(3_300)],
  ['misnested formatting', '<a><b><i><p></a>'.repeat(3_000)],
  ['formatting in tables', `<table>${'<b title="x">'.repeat(3_000)}`],
  ['open brackets', '<'.repeat(50_000)],
  ['attributes', `<p ${'a=1 '.repeat(12_000)}>x`],
  ['declarations', `<p style="${'color:red;'.repeat(4_900)}">x</p>`],
  ['brackets in a style', `<p style="font:${'rgb('.repeat(12_000)}">x</p>`],
  ['comments', '<!--'.repeat(12_500)],
  ['entities', '&'.repeat(50_000)],
  ['merge tags', '{{x}}'.repeat(10_000)],
]
test.each(hostile)('hostile input of 50,000 characters costs little and stays small: %s', async (_, html) => {
  const source = `x${html}`.slice(0, 50_000)
  const [usual] = await costOf(() => markupHtml('x <b>y</b> '.repeat(4_500), {}))
  const [cost, safe] = await costOf(() => markupHtml(source, {}))
  expect(cost).toBeLessThan(20 * usual + 50)
  expect(safe.length).toBeLessThan(3_000_000)
})
