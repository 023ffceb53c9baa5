import { request as ask, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createList } from '../../src/contacts/contacts.ts'
import { createForm, FormFile } from '../../src/forms/forms.ts'
import { type EngagedApp, engagedAccount, sendProject, startEngaged } from '../support/engagement.ts'
import { describePages, faultsOf } from '../support/pages.ts'

/** `SVC_PUBLIC_URL` has a path, which the proxy removes. */
describePages('behind a proxy with a path', (openPage) => {
  let engaged: EngagedApp
  let origin: string
  let port: number
  const proxy = createServer((request, response) => {
    if (!request.url!.startsWith('/mail/')) return void response.writeHead(404).end()
    const onward = ask(
      { port, path: request.url!.slice('/mail'.length), method: request.method, headers: request.headers },
      (reply) => void reply.pipe(response.writeHead(reply.statusCode!, reply.headers)),
    )
    request.pipe(onward)
  })

  beforeAll(async () => {
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
    origin = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/mail`
    engaged = await startEngaged({ env: { SVC_PUBLIC_URL: `${origin}/` } })
    await engaged.t.server.fastify.listen({ port: 0, host: '127.0.0.1' })
    port = (engaged.t.server.fastify.server.address() as AddressInfo).port
  })
  afterAll(async () => {
    proxy.closeAllConnections()
    proxy.close()
    await engaged.close()
  })

  test.each([true, false])(
    'a live view is answered and a form is submitted; scripts: %s',
    async (javaScriptEnabled) => {
      const { t, sink } = engaged
      const account = await engagedAccount(t)
      const mail = await sendProject(t, sink, account)
      const page = await openPage({ javaScriptEnabled })
      await page.goto(`${origin}${mail.view}`)
      await page.getByRole('button', { name: 'Blue' }).click()
      await page.getByText('You can still change it').first().waitFor()
      const form = await t.app.work(account.id, 'cli:test', async (work) => {
        await createList(work, { name: 'Leads' })
        return createForm(work, FormFile.parse({ name: 'News', list: 'Leads', fields: ['first_name'] }))
      })
      await page.goto(`${origin}/f/${form.id}`)
      await page.getByLabel('Email').fill('bob@people.example')
      await page.getByRole('button', { name: 'Sign up' }).click()
      await page.getByRole('heading', { name: 'Thank you' }).waitFor()
      expect(new URL(page.url()).pathname).toBe(`/mail/f/${form.id}/thanks`)
      expect(faultsOf(page).filter((fault) => !fault.includes('404 (Not Found)'))).toEqual([])
      await page.close()
    },
  )
})
