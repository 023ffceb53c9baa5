import { expect, test } from 'vitest'
import { renderMarkdown } from '../../src/courses/courses.markdown.ts'
import { videoOf } from '../../src/lib/video.ts'

const web = (url: string, text: string) =>
  `<a href="${url}" target="_blank" rel="noopener noreferrer nofollow">${text}</a>`

test.each([
  ['First\nsecond', '<p>First<br>\nsecond</p>\n'],
  ['First\r\nsecond', '<p>First<br>\nsecond</p>\n'],
  ['One\n\nTwo', '<p>One</p>\n<p>Two</p>\n'],
  ['*a* **b** `c`', '<p><em>a</em> <strong>b</strong> <code>c</code></p>\n'],
  ['- a\n- b', '<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n'],
  ['3. a', '<ol start="3">\n<li>a</li>\n</ol>\n'],
  ['> q', '<blockquote>\n<p>q</p>\n</blockquote>\n'],
  ['```js onclick=x\na < b\n```', '<pre><code>a &lt; b\n</code></pre>\n'],
  ['[a](https://x.example/?b=1&c=2 "t")', `<p>${web('https://x.example/?b=1&amp;c=2', 'a')}</p>\n`],
  ['<http://x.example>', `<p>${web('http://x.example', 'http://x.example')}</p>\n`],
  ['[w](mailto:a@b.example)', '<p><a href="mailto:a@b.example">w</a></p>\n'],
  // Below the page's h1, without a gap.
  ['# A\n\n### B\n\n# C', '<h2>A</h2>\n<h3>B</h3>\n<h2>C</h2>\n'],
  ['### A\n\n## B\n\n### C', '<h2>A</h2>\n<h2>B</h2>\n<h3>C</h3>\n'],
  ['# 1\n\n## 2\n\n### 3\n\n#### 4\n\n##### 5\n\n###### 6', expect.stringMatching(/<h6>5<\/h6>\n<h6>6<\/h6>\n$/)],
  ['![A *knot*](https://x.example/a.png)', `<p>${web('https://x.example/a.png', 'A knot')}</p>\n`],
  ['![](https://x.example/a.png)', `<p>${web('https://x.example/a.png', 'https://x.example/a.png')}</p>\n`],
  ['[![A](https://x.example/a.png) b](https://y.example)', `<p>${web('https://y.example', 'A b')}</p>\n`],
])('renders %j', async (markdown, html) => {
  expect(await renderMarkdown(markdown)).toEqual(html)
})

const attacks = [
  '<script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  '<svg/onload=alert(1)>',
  '<iframe src="https://evil.example"></iframe>',
  '<style>*{display:none}</style>',
  '<form action=https://evil.example><button>',
  '<div\nonclick=alert(1)>\n\nhi',
  '<!-- <script> -->',
  '<![CDATA[<script>]]>',
  '<a href="https://evil.example" onclick="x">y</a>',
  '[x](javascript:alert(1))',
  '[x](JaVaScRiPt:alert(1))',
  '[x](<java\tscript:alert(1)>)',
  '[x](javascript&colon;alert(1))',
  '[x](&#106;avascript:alert(1))',
  '[x](&#x6A&#x61vascript:alert(1))',
  '[x]( javascript:alert(1))',
  '[x](\\javascript:alert(1))',
  '[x](vbscript:msgbox(1))',
  '[x](data:text/html;base64,PHNjcmlwdD4=)',
  '[x](file:///etc/passwd)',
  '[x](//evil.example)',
  '[x](\\\\evil.example)',
  '[x](https:///evil.example)',
  '[x](?session=1)',
  '[x](#y)',
  '[x]: javascript:alert(1)\n\n[x]',
  '<javascript:alert(1)>',
  '![x](javascript:alert(1))',
  '![x](data:image/svg+xml,<svg/onload=alert(1)>)',
  '![x" onerror="alert(1)](https://x.example/a.png)',
  '[x](https://x.example/"onmouseover="alert(1))',
  '[x](<https://x.example/" onmouseover="alert(1)>)',
  '[x](https://x.example "a" onmouseover="alert(1)")',
  '```"><script>alert(1)</script>\n```',
  '`<script>`',
  '# <script>alert(1)</script>',
  '&lt;script&gt;alert(1)&lt;/script&gt;',
]
test.each(attacks)('neither runs nor loads anything of %j', async (attack) => {
  const html = await renderMarkdown(attack)
  const tags = html.match(/<[^>]*>/g) ?? []
  const allowed = /^<\/?(?:p|h2|code|pre|a|em|strong|br|blockquote|ul|ol|li|hr)>$/
  const link =
    /^<a href="(?:https?:\/\/[^/"<>][^"<>]*|mailto:[^"<>]*)"(?: target="_blank" rel="noopener noreferrer nofollow")?>$/
  expect(tags.filter((tag) => !allowed.test(tag) && !link.test(tag))).toEqual([])
})

test('few characters that would become many are refused', async () => {
  const definition = `[a]: https://x.example/${'y'.repeat(1_900)}\n\n`
  await expect(renderMarkdown(definition + '[a] '.repeat(20_000))).rejects.toMatchObject({ kind: 'invalid' })
  // Longer addresses are no links.
  expect(await renderMarkdown(`[a](https://x.example/${'y'.repeat(2_000)})`)).not.toContain('<a')
  expect(await renderMarkdown(definition + '[a] '.repeat(10))).toContain('<a')
})

/** Texts at the limit of a lesson's content that make slow parsers take minutes. */
const limit = 100_000
const fill = (text: string) => text.repeat(limit / text.length)
test.each([
  ['empty links', fill('![[]()')],
  ['nested images', `${'!['.repeat(6_000)}x${'](https://x.example)'.repeat(4_000)}`],
  ['emphasis', fill('*_')],
  ['quotes', fill('> ')],
  ['lists', fill('- ')],
  ['nested lists', Array.from({ length: 440 }, (_, i) => `${' '.repeat(i)}- a`).join('\n')],
  ['backticks', Array.from({ length: 440 }, (_, i) => '`'.repeat(i)).join(' ')],
  ['lines in a quote', `${'> '.repeat(100)}${'a\n'.repeat(49_000)}`],
  ['references', fill('[a]: b\n')],
])('renders any lesson: %s', async (_, markdown) => {
  expect((await renderMarkdown(markdown)).length).toBeLessThan(1_000_000)
})

const youtube = (rest: string) => ({
  kind: 'frame',
  src: `https://www.youtube-nocookie.com/embed/${rest}`,
  origin: 'https://www.youtube-nocookie.com',
})
const vimeo = (rest: string) => ({
  kind: 'frame',
  src: `https://player.vimeo.com/video/${rest}`,
  origin: 'https://player.vimeo.com',
})

test.each([
  ['https://www.youtube.com/watch?v=dQw4w9WgXcQ', youtube('dQw4w9WgXcQ')],
  ['https://m.youtube.com/watch?list=PL1&v=dQw4w9WgXcQ&t=1m30s', youtube('dQw4w9WgXcQ?start=90')],
  ['https://youtu.be/dQw4w9WgXcQ?t=42', youtube('dQw4w9WgXcQ?start=42')],
  ['https://youtu.be/dQw4w9WgXcQ?t=x', youtube('dQw4w9WgXcQ')],
  ['https://www.youtube.com/shorts/dQw4w9WgXcQ', youtube('dQw4w9WgXcQ')],
  ['https://www.youtube.com/live/dQw4w9WgXcQ?si=x', youtube('dQw4w9WgXcQ')],
  ['https://www.youtube-nocookie.com/embed/dQw4w9WgXcQ', youtube('dQw4w9WgXcQ')],
  ['https://vimeo.com/76979871', vimeo('76979871?dnt=1')],
  ['https://vimeo.com/76979871/8272103f6e', vimeo('76979871?h=8272103f6e&dnt=1')],
  ['https://player.vimeo.com/video/76979871?h=8272103f6e', vimeo('76979871?h=8272103f6e&dnt=1')],
  ['https://vimeo.com/channels/staffpicks/76979871', vimeo('76979871?dnt=1')],
  [
    'https://cdn.example:8443/a/Knots.MP4?key=1',
    { kind: 'media', src: 'https://cdn.example:8443/a/Knots.MP4?key=1', origin: 'https://cdn.example:8443' },
  ],
  ['https://bücher.example/a.webm', expect.objectContaining({ origin: 'https://xn--bcher-kva.example' })],
])('finds the video at %s', (url, video) => {
  expect(videoOf(url)).toEqual(video)
})

test.each([
  '',
  'knots.mp4',
  'http://cdn.example/knots.mp4',
  'https://cdn.example/knots',
  'https://cdn.example/knots.html',
  'https://cdn.example/?file=knots.mp4',
  'https://ada:secret@cdn.example/knots.mp4',
  'javascript:alert(1)//.mp4',
  'data:video/mp4;base64,AA.mp4',
  'blob:https://cdn.example/a.mp4',
  'ftp://cdn.example/a.mp4',
  // Each would widen the page's policy.
  'https://*/a.mp4',
  'https://*.example/a.mp4',
  "https://a;script-src'unsafe-inline'/a.mp4",
  'https://a,b/a.mp4',
  'https://www.youtube.com/',
  'https://www.youtube.com/playlist?list=PL1',
  'https://www.youtube.com/watch?v=short',
  'https://www.youtube.com/watch?v=dQw4w9WgXcQ"onload=x',
  'https://youtube.com.evil.example/watch?v=dQw4w9WgXcQ',
  'https://evil.example/youtube.com/watch?v=dQw4w9WgXcQ',
  'https://vimeo.com/about',
  'https://vimeo.com/76979871/../x',
  'https://player.vimeo.com/video/76979871x',
])('refuses %s as a video', (url) => {
  expect(videoOf(url)).toBeNull()
})
