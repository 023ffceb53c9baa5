import { expect, test } from 'vitest'
import { applyProjects, renderProject } from '../../src/studio/studio.ts'
import { projectOf, testLinks } from '../studio/support.ts'
import { useAccount, useApp } from '../support/app.ts'
import { describePages, faultsOf, requestsOf } from '../support/pages.ts'

/*
 * Attacks by the HTML of a block, and by values of merge fields in it, in a browser without a security policy: nothing runs, nothing is
 * loaded but pictures, and the email around the block stays whole.
 */

const t = useApp()
const account = useAccount(t)

const run = 'alert(1)'
const attacks = [
  `<script>${run}</script>`,
  `<scr<script></script>ipt>${run}</script>`,
  `<img src=x onerror=${run}>`,
  `<img src="https://x.example/a.png"/onerror=${run} alt="">`,
  `<img src=\`x\` onerror=${run}>`,
  `<image src=x onerror=${run}>`,
  `<svg onload=${run}><g/onload=${run}></svg>`,
  `<svg><animate xlink:href=#a attributeName=href values="javascript:${run}" /><a id=a><text>x</text></a></svg>`,
  `<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=${run}&gt;">`,
  `<math><annotation-xml encoding="text/html"><p><img src=x onerror=${run}></p></annotation-xml></math>`,
  `<form><math><mtext></form><form><mglyph><style></math><img src onerror=${run}>`,
  `<noscript><p title="</noscript><img src=x onerror=${run}>"></noscript>`,
  `<noembed><img title="</noembed><img src=x onerror=${run}>"></noembed>`,
  `<xmp><p title="</xmp><img src=x onerror=${run}>"></xmp>`,
  `<textarea><img title="</textarea><img src=x onerror=${run}>"></textarea>`,
  `<title><img title="</title><img src=x onerror=${run}>"></title>`,
  `<style><img title="</style><img src=x onerror=${run}>"></style>`,
  `<iframe srcdoc="<script>parent.${run}</script>"></iframe><iframe src="javascript:parent.${run}">`,
  `<template><script>${run}</script></template><object data="javascript:${run}"></object><embed src="javascript:${run}">`,
  `<details open ontoggle=${run}><summary>x</summary></details><video><source onerror=${run}></video>`,
  `<body onload=${run} onfocus=${run}><input autofocus onfocus=${run}><select autofocus onfocus=${run}>`,
  `<marquee onstart=${run}>x</marquee><keygen autofocus onfocus=${run}><audio src onerror=${run}>`,
  `<meta http-equiv=refresh content="0;url=https://evil.example/"><base href="https://evil.example/">`,
  `<link rel=stylesheet href="https://evil.example/a.css"><style>@import "https://evil.example/b.css"</style>`,
  `<p style="background:url(https://evil.example/c.png);width:expression(${run});position:fixed;inset:0">x</p>`,
  `<p style="background-image:\\75 rl(https://evil.example/d.png);--x:url(https://evil.example/e.png)">x</p>`,
  `<table background="https://evil.example/f.png"><tr><td background="https://evil.example/g.png">x</td></tr></table>`,
  `<p style='font-family:"x;background:url(https://evil.example/h.png);'>x</p>`,
  `</td></tr></tbody></table></div></td></tr></table></div></div></body></html><script>${run}</script>`,
  `<table><tr><td></table></table></table></div></div><td><tr><table><caption><table></table></table>`,
  `<table><table><table></table></table></table><tr><td>x</td></tr></tbody></table>`,
  `<!--><img src=x onerror=${run}>--><!--[if gte IE 4]><script>${run}</script><![endif]--><!-- --!><img src=x onerror=${run}>`,
  `<![CDATA[<img src=x onerror=${run}>]]><?php <img src=x onerror=${run}> ?>`,
  `<a href="javascript:${run}" id=a>x</a><a href="jav&#x09;ascript:${run}">y</a><a href=" &#14; javascript:${run}">z</a>`,
  `<a href='data:text/html,<script>${run}</script>'>x</a><a href="{{ url }}">y</a><a href="{{ url }}/a">z</a>`,
  `<a title="{{ markup }}" href="https://x.example/?{{ markup }}">{{ markup }}</a><img src="{{ markup }}" alt="{{ markup }}">`,
  `<{{ markup }}><p {{ markup }}="{{ markup }}" style="color:{{ markup }};{{ markup }}">x</p></{{ markup }}>`,
  `{{ {{ markup }} }} {{{ markup }}} {{ none | "<img src=x onerror=${run}>" }}`,
  `<p title='{{ none | "' onclick=${run} '" }}' align="{{ none | "left\\" onclick=${run}" }}">x</p>`,
  `<b><i><b><i></b></i><p></b></i>`.repeat(200),
  `<div>`.repeat(500),
]

const mergeData = {
  url: `javascript:${run}`,
  markup: `"'></p></td></tr></table><script>${run}</script><img src=x onerror=${run}>`,
}

const rendered = async (html: string): Promise<string> => {
  const blocks = [
    { id: 'before', type: 'text', props: { text: 'Before' } },
    { id: 'attack', type: 'html', props: { html: `x${html}` } },
    { id: 'after', type: 'text', props: { text: 'After' } },
  ]
  const [project] = await t.app.work(account.id, 'cli:test', (work) => applyProjects(work, [projectOf(blocks)]))
  const ref = { accountId: account.id, id: project!.id!, version: project!.version }
  const links = { ...testLinks, unsubscribe: 'https://svc.test/u/token' }
  return (await renderProject(t.app, { ...ref, mergeData, links, nowMs: 0 })).html
}

/** Returns the path of an element, with its place in each element that contains it. */
const placeOf = (text: string) => `(() => {
  let one = [...document.querySelectorAll('p, a')].find((found) => found.textContent === '${text}')
  const path = []
  for (; one; one = one.parentElement) path.push(one.tagName + [...(one.parentElement?.children ?? [])].indexOf(one))
  return path.join(' ')
})()`

describePages('a block of HTML', (openPage) => {
  test.each(attacks.map((attack) => [attack.slice(0, 60), attack]))(
    'can do nothing but show its content: %s',
    async (_, attack) => {
      const page = await openPage()
      await page.route('**/*', (route) => route.abort())
      await page.setContent(await rendered('<p>usual</p>'))
      const usual = [await page.evaluate(placeOf('After')), await page.evaluate(placeOf('Unsubscribe'))]
      expect(usual[0]).toContain('TD')
      await page.setContent(await rendered(attack))
      for (const event of ['click', 'mouseover', 'focus', 'toggle', 'error'])
        await page.evaluate(
          `for (const one of document.querySelectorAll('body *')) one.dispatchEvent(new Event('${event}'))`,
        )
      for (const link of await page.locator('a[href^="javascript"], a[href^="data"], [onclick], script').all())
        expect(await link.evaluate('(one) => one.outerHTML')).toBe('')
      expect([await page.evaluate(placeOf('After')), await page.evaluate(placeOf('Unsubscribe'))]).toEqual(usual)
      expect(faultsOf(page).filter((fault) => !/Failed to load resource/.test(fault))).toEqual([])
      expect(requestsOf(page).filter((url) => !url.startsWith('https://x.example/'))).toEqual([])
      await page.close()
    },
  )
})
