import { workerData } from 'node:worker_threads'
import { openApp } from '../../app/app.ts'
import { loadTemplate } from '../../studio/studio.ts'
import type { TemplateData } from './dev.template.ts'

const { config, written } = workerData as TemplateData
const app = await openApp(config, { isThread: true, schema: 'ignore', connections: 1, name: 'svc template' })
await loadTemplate(app, written).finally(() => app.close())
process.exit()
