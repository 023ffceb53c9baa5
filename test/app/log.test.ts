import { pino } from 'pino'
import { expect, test } from 'vitest'
import { serializers } from '../../src/app/daemon/log.ts'
import { loadPages, loadRoutes } from '../../src/app/features.ts'
import { buildServer } from '../../src/http/server.ts'
import { startApp } from '../support/app.ts'

test('no token of a link or a session is logged for a page or the live view', async () => {
  const t = await startApp()
  const lines: string[] = []
  const logger = pino({ level: 'trace', serializers }, { write: (line) => void lines.push(line) })
  const { fastify, drain } = await buildServer(t.app, await loadRoutes(), logger, await loadPages())
  for (const url of [
    '/u/SECRET',
    '/api/v1/liveview/SECRET',
    '/bakery/crs_1/embed?token=SECRET',
    '/bakery/crs_1/embed?session=SECRET',
    '/api/v1/embed?token=SECRET',
    '/%ZZ?SECRET',
  ])
    for (const method of ['GET', 'POST', 'PUT'] as const) await fastify.inject({ method, url })
  await drain()
  await t.close()
  // One line for each request.
  expect(lines).toHaveLength(18)
  expect(lines.join('')).toContain('"route":"/:slug/:courseId/embed"')
  expect(lines.filter((line) => line.includes('SECRET'))).toEqual([])
})
