import { extname, join } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Config } from '../../app/config.ts'
import type { Demo } from './demo.ts'

export interface TemplateData {
  config: Config
  written: NonNullable<Demo['written']>
}

/**
 * Renders a version of a project in a thread, and stores its template for the first email. MJML blocks a thread for a second and
 * keeps 90 MB; here the API answers meanwhile, and the memory is freed. After a failure the first email renders it.
 */
export const renderBefore = (data: TemplateData): { stop(): Promise<void> } => {
  const file = join(import.meta.dirname, `dev.template.worker${extname(import.meta.filename)}`)
  const thread = new Worker(file, { workerData: data, stdout: true, stderr: true })
  thread.on('error', () => {})
  return { stop: async () => void (await thread.terminate()) }
}
