import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { applyProjects } from '../../src/studio/studio.ts'
import { useApp } from '../support/app.ts'
import { projectOf } from './support.ts'

const t = useApp()

const url = (path: string) => JSON.stringify(pathToFileURL(join(import.meta.dirname, '../..', path)).href)

/** Runs a script in a separate process. Returns its output and the MJML modules that it loaded. */
const loads = async (script: string) => {
  const source = `
    import { registerHooks } from 'node:module'
    const loaded = []
    registerHooks({ resolve: (name, context, next) => (loaded.push(name), next(name, context)) })
    const print = (value) => { printed = value }
    let printed = null
    ${script}
    process.stdout.write(JSON.stringify({ printed, mjml: loaded.filter((name) => /^mjml/.test(name)) }))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', source])
  return JSON.parse(stdout) as { printed: unknown; mjml: string[] }
}

test('the daemon, jobs and commands do not load MJML at their start', async () => {
  const { mjml } = await loads(`
    const { loadRoutes } = await import(${url('src/app/features.ts')})
    const { loadEntities } = await import(${url('test/support/entities.ts')})
    const { loadCommands } = await import(${url('src/tools/commands.ts')})
    await Promise.all([loadCommands(), loadEntities(), loadRoutes()])
    await import(${url('src/app/daemon/daemon.ts')})
    await import(${url('src/studio/studio.ts')})`)
  expect(mjml).toEqual([])
})

test('MJML is loaded for the first rendering of a version, and by no process after that', async () => {
  const account = await t.account()
  const document = projectOf([{ type: 'text', props: { text: 'Hello {{ name }}' } }])
  const [project] = await t.app.work(account.id, 'cli:test', (work) => applyProjects(work, [document]))
  const render = () =>
    loads(`
      const { openDatabase } = await import(${url('src/store/database.ts')})
      const { renderProject } = await import(${url('src/studio/studio.ts')})
      const database = openDatabase(${JSON.stringify(t.url)})
      const links = { view: '#', click: (to) => to, answer: () => '#', honeypot: null, open: null, unsubscribe: null }
      const ref = { accountId: ${JSON.stringify(account.id)}, id: ${JSON.stringify(project!.id)}, version: 1 }
      const { text } = await renderProject(database, { ...ref, mergeData: { name: 'Ada' }, links, nowMs: 0 })
      await database.close()
      print(text)`)
  const [first, second] = [await render(), await render()]
  expect(first.printed).toMatch(/^Hello Ada\n/)
  expect(first.mjml).toContain('mjml')
  expect(second).toEqual({ printed: first.printed, mjml: [] })
})
