import type { AddressInfo } from 'node:net'
import { parentPort, workerData } from 'node:worker_threads'
import { openApp } from '../../src/app/app.ts'
import type { Config } from '../../src/app/config.ts'
import { createLogger } from '../../src/app/daemon/log.ts'
import { loadListeners } from '../../src/app/features.ts'
import { buildServer } from '../../src/http/server.ts'
import { routes } from '../../src/messages/api/send.routes.ts'

// POST /send of `svc serve --no-jobs` in a thread.
const { config } = workerData as { config: Config }
const app = await openApp(config, { connections: 20, hasNoticeConnection: true, beforeWork: loadListeners })
const { fastify } = await buildServer(app, routes, createLogger(config))
await fastify.listen({ host: config.host, port: 0 })
parentPort!.postMessage(`http://${config.host}:${(fastify.server.address() as AddressInfo).port}`)
