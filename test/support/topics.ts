import { createTopic, NewTopic } from '../../src/suppressions/topics.change.ts'
import type { TestAccount, TestApp } from './app.ts'

/** Creates a topic of an account and returns its id. */
export const makeTopic = async (t: TestApp, { id }: TestAccount, name: string, description?: string): Promise<string> =>
  (await t.app.work(id, 'cli:test', (work) => createTopic(work, NewTopic.parse({ name, description })))).id

/** Returns the path of the preference page in an email. */
export const preferencePath = (mail: { header(name: string): string | undefined | null }): string =>
  new URL(/<(.*)>/.exec(mail.header('list-unsubscribe')!)![1]!).pathname
