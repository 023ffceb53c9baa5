import { hash } from 'node:crypto'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { harbourPng } from '../../src/tools/dev/picture.ts'
import { useApp } from '../support/app.ts'
import { svc } from '../support/cli.ts'

const publicUrl = 'https://svc.example'
const t = useApp({ env: { SVC_PUBLIC_URL: publicUrl } })

const folder = await mkdtemp(join(tmpdir(), 'svc-cover-'))
const fileOf = async (name: string, content: Buffer) => {
  const file = join(folder, name)
  await writeFile(file, content)
  return file
}
const webinars = async (accountId: string, ...args: string[]) =>
  svc(t, ['webinars', ...args, '--account', accountId, '--json'])
const page = async (url: string) => {
  const reply = await t.server.fastify.inject({ url: url.replace(publicUrl, '') })
  return { status: reply.statusCode, headers: reply.headers, html: reply.body, raw: reply.rawPayload }
}

test('a webinar shows its own picture, as wide as it is, and tells messengers about it; an empty value removes it', async () => {
  const { id: accountId } = await t.account()
  const cover = await fileOf('cover.png', harbourPng)
  const about = ['--description', 'Bring <tea>. See (https://a.example/b?c=1&d=2).']
  const { id } = (await webinars(accountId, 'create', '--title', 'Harbour', '--at', '2d', '--cover', cover, ...about))
    .json
  const url = `${publicUrl}/assets/${accountId}/webinars/${id}/cover?v=${hash('sha256', harbourPng).slice(0, 12)}`
  expect((await svc(t, ['webinars', 'show', id, '--account', accountId])).stdout).toContain(url)
  const { html } = await page(`/webinar/${id}`)
  expect(html).toMatch(
    new RegExp(
      `<img class="cover" src="${url.replace(publicUrl, '').replace('?', '\\?')}" alt="" width="\\d+" height="\\d+">`,
    ),
  )
  expect(html).toContain(`<meta property="og:image" content="${url}">`)
  expect(html).toContain('<meta property="og:title" content="Harbour">')
  expect(html).toContain(
    '<meta property="og:description" content="Bring &lt;tea&gt;. See (https://a.example/b?c=1&amp;d=2).">',
  )
  const link = 'https://a.example/b?c=1&amp;d=2'
  expect(html).toContain(`See (<a href="${link}" target="_blank" rel="noopener noreferrer">${link}</a>).</p>`)
  const { status, headers, raw } = await page(url)
  expect([status, headers['content-type'], raw]).toEqual([200, 'image/png', harbourPng])
  expect(headers).toMatchObject({
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'x-content-type-options': 'nosniff',
  })
  const other = await t.account()
  expect((await page(url.replace(accountId, other.id))).status).toBe(404)
  expect((await webinars(accountId, 'update', id, '--cover', '')).status).toBe(0)
  expect((await page(url)).status).toBe(404)
  expect((await page(`/webinar/${id}`)).html).toContain('<div class="cover" aria-hidden="true">')
})

test('a cover is an image of at most 500 KB; otherwise nothing is written', async () => {
  const { id: accountId } = await t.account()
  const create = async (content: Buffer) =>
    webinars(accountId, 'create', '--title', 'Harbour', '--cover', await fileOf('file', content))
  expect(await create(Buffer.from('<svg onload="alert(1)"/>'))).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('cover must be a PNG, JPEG or WebP image'),
  })
  expect(await create(Buffer.concat([harbourPng, Buffer.alloc(500 * 1024)]))).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('cover must have at most 500 KB'),
  })
  expect((await webinars(accountId, 'create', '--title', 'Harbour', '--cover', '/nowhere.png')).status).toBe(2)
  expect((await webinars(accountId, 'list')).json.webinars).toEqual([])
})
