import { expect, test } from 'vitest'
import { applyProjects, sampleProject } from '../../src/studio/studio.ts'
import { renderBefore } from '../../src/tools/dev/dev.template.ts'
import { useAccount, useApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'

const t = useApp()
const account = useAccount(t)

test('a thread renders the sample project and stores its template', async () => {
  const sample = sampleProject('http://127.0.0.1/harbour.png')
  const [project] = await t.app.work(account.id, 'cli:test', (work) => applyProjects(work, [sample]))
  const stored = async () => {
    const [row] = await t.app.sql<{ rendered: boolean }>(
      'select template is not null as rendered from project_versions where account_id = $1',
      [account.id],
    )
    return row!.rendered
  }
  expect(await stored()).toBe(false)
  const written = { accountId: account.id, id: project!.id!, version: project!.version }
  const thread = renderBefore({ config: t.app.config, written })
  expect(await eventually(stored)).toBe(true)
  await thread.stop()
})
