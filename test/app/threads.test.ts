import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

test.each(['src/deliveries/queue/queue.ts', 'src/messages/outbox/outbox.run.ts'])(
  'the thread of %s loads neither MikroORM nor the HTTP server',
  async (file) => {
    const url = (path: string) => JSON.stringify(pathToFileURL(join(import.meta.dirname, '../..', path)).href)
    const script = `
    import { registerHooks } from 'node:module'
    const loaded = []
    registerHooks({ resolve: (name, context, next) => (loaded.push(name), next(name, context)) })
    await import(${url('src/app/app.ts')})
    await import(${url(file)})
    process.stdout.write(JSON.stringify(loaded.filter((name) => /^@mikro-orm|^fastify|^commander|^bree/.test(name))))`
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script])
    expect(JSON.parse(stdout)).toEqual([])
  },
)
