import { html } from '../pages/html.ts'
import type { Page } from '../pages/page.ts'

const consoleLine = (url: string) => html`<li>
<a href="${url}">Console</a> of <code>svc dev</code>: caught email, webhooks, API calls and the clock
</li>`

/**
 * Returns the page `/`, which says what this server is and links to its documentation. `consoleUrl` is the console of `svc dev`.
 * Links are relative, because a proxy may add a path.
 */
export const homePage = (consoleUrl?: string): Page => ({
  method: 'GET',
  path: '/',
  handle: async () => ({
    title: 'svc',
    body: html`<h1>svc</h1>
<p>This server sends email and runs contacts, deals, journeys, webinars, courses and webhooks through an API.</p>
<ul>
<li><a href="docs">API documentation</a>, with a place to try calls</li>
<li><a href="openapi.json">openapi.json</a>, the OpenAPI document</li>
${consoleUrl && consoleLine(consoleUrl)}
</ul>
<p class="quiet">If a link brought you here, open it again from your email: the link may be incomplete.</p>`,
  }),
})
