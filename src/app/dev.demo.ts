import { readFileSync } from 'node:fs'
import { createAccount, createKey, listAccounts, listKeys } from '../accounts/accounts.ts'
import { createList, listLists, writeContacts } from '../contacts/contacts.ts'
import { eventTypes } from '../events/types.ts'
import { createForm, FormFile } from '../forms/forms.ts'
import { addSender, listSenders } from '../messages/messages.ts'
import { writeInside } from '../store/folder.ts'
import { applyProjects, listProjects, sampleProject } from '../studio/studio.ts'
import { createWebhook } from '../webhooks/webhooks.ts'
import type { OpenApp } from './app.ts'
import { demoFile } from './config.ts'

/** What the database holds as hashes only, or not at all: kept beside it, readable by its owner alone. */
export interface Keepsake {
  accountId: string
  keyId: string
  key: string
  webhookId: string
  /** The secret part of the receiver's path. */
  token: string
  /** The sample data was made: it does not come back when the user deletes it. */
  sampled: boolean
  /** Where the picture of the sample project was; undefined: it was made before there was one. */
  picture?: string
}

export interface Demo {
  key: string
  /** The signing secret of the subscription to the receiver page. */
  secret: string
  /** A list to write to; null where the user deleted them all. */
  listId: string | null
}

const actor = 'cli:dev'
const accountName = 'demo'
const sampleList = 'Sample contacts'
const sampleForm = 'Newsletter'

const sampleContacts = [
  ['amara.diallo', 'Amara', 'Diallo', 'Harbour & Pine'],
  ['jonas.lindqvist', 'Jonas', 'Lindqvist', 'Fjord Instruments'],
  ['mei.tanaka', 'Mei', 'Tanaka', 'Kumo Studio'],
  ['rafael.costa', 'Rafael', 'Costa', 'Costa Cycles'],
  ['zofia.nowak', 'Zofia', 'Nowak', 'Nowak Press'],
].map(([mailbox, first_name, last_name, company]) => ({
  email: `${mailbox}@sample.example`,
  fields: { first_name: first_name!, last_name: last_name!, company: company! },
}))

/** What an earlier start kept; null at the first one. One that can't be read is made anew. */
export const readKeepsake = (dataDir: string): Keepsake | null => {
  try {
    return JSON.parse(readFileSync(demoFile(dataDir), 'utf8'))
  } catch {
    return null
  }
}

const writeKeepsake = (dataDir: string, keepsake: Keepsake): void =>
  writeInside(dataDir, demoFile(dataDir), `${JSON.stringify(keepsake, null, 2)}\n`)

const demandAccount = (app: OpenApp): Promise<{ id: string }> =>
  app.operate(actor, async (operation) => {
    const found = (await listAccounts(operation)).find(({ name }) => name === accountName)
    return found ?? createAccount(operation, { name: accountName, plan: 'unlimited' })
  })

/** The kept key while it is good, else a new one. */
const demandKey = (app: OpenApp, accountId: string, kept: Keepsake | null) =>
  app.work(accountId, actor, async (work) => {
    const good = (await listKeys(work)).some(({ id, revokedAt }) => id === kept?.keyId && revokedAt === null)
    return good && kept ? { id: kept.keyId, key: kept.key } : createKey(work, { name: accountName })
  })

/** The kept subscription, led to where the receiver is now, or a new one to all events. */
const demandWebhook = async (app: OpenApp, accountId: string, url: string, kept: Keepsake | null) => {
  if (kept) {
    const [row] = await app.sql<{ sealed: string }>(
      `update delivery_targets set url = $3 where account_id = $1 and id = $2 and status <> 'deleted'
       returning sealed_secret as sealed`,
      [accountId, kept.webhookId, url],
    )
    if (row) return { id: kept.webhookId, secret: app.box.open(row.sealed, kept.webhookId) }
  }
  // The receiver is ours and on this machine, whatever SVC_ALLOW_PRIVATE_WEBHOOKS says.
  const origin = { createdVia: 'dashboard', trusted: true } as const
  return createWebhook(app, accountId, actor, { url, events: [...eventTypes] }, origin)
}

/** So that a first mail is one call. */
const addSampleSender = (app: OpenApp, accountId: string): Promise<void> =>
  app.work(accountId, actor, async (work) => {
    if ((await listSenders(work)).length > 0) return
    await addSender(work, { email: 'hello@sample.example', name: 'Demo' })
  })

/** A list with contacts, whose events are the first deliveries, and a form by which others come into it. Their verdicts are given: no name server is asked. */
const addSamples = (app: OpenApp, accountId: string): Promise<void> =>
  app.work(accountId, actor, async (work) => {
    if ((await listLists(work)).length > 0) return
    const { id } = await createList(work, { name: sampleList })
    const verdicts = new Map(sampleContacts.map(({ email }) => [email, { status: 'valid' as const, reasons: [] }]))
    await writeContacts(work, id, sampleContacts, verdicts)
    const form = { name: sampleForm, listId: id, fields: ['first_name', 'company'], doubleOptIn: true }
    await createForm(work, FormFile.parse(form))
  })

/** So that a first mail with every block is one command. */
const addSampleProject = (app: OpenApp, accountId: string, picture: string): Promise<void> =>
  app.work(accountId, actor, async (work) => {
    if ((await listProjects(work)).length > 0) return
    await applyProjects(work, [sampleProject(picture)])
  })

/** The sample project, as long as it is as it was made, is led to where its picture is now. */
const followPicture = (app: OpenApp, accountId: string, before: string, picture: string): Promise<void> =>
  app.work(accountId, actor, async (work) => {
    const [found] = await applyProjects(work, [sampleProject(before)], { dryRun: true })
    if (found?.outcome === 'unchanged') await applyProjects(work, [sampleProject(picture)])
  })

/**
 * The account `demo` with a key, a subscription of the receiver at `hook` to every event and, when it is new, sample data.
 * What an earlier start made is kept; what was revoked or deleted since is made anew, but no sample data. `picture` is where
 * the sample project's is.
 */
export const prepareDemo = async (
  app: OpenApp,
  hook: { url: string; token: string },
  picture: string,
): Promise<Demo> => {
  const { dataDir } = app.config
  const account = await demandAccount(app)
  const keepsake = readKeepsake(dataDir)
  const kept = keepsake?.accountId === account.id ? keepsake : null
  const [key, webhook] = await Promise.all([
    demandKey(app, account.id, kept),
    demandWebhook(app, account.id, hook.url, kept),
  ])
  const keep = (sampled: boolean, pictureNow: string | undefined) =>
    writeKeepsake(dataDir, {
      accountId: account.id,
      keyId: key.id,
      key: key.key,
      webhookId: webhook.id,
      token: hook.token,
      sampled,
      ...(pictureNow !== undefined && { picture: pictureNow }),
    })
  keep(kept?.sampled ?? false, kept?.picture)
  if (!kept?.sampled) {
    await addSamples(app, account.id)
    await addSampleSender(app, account.id)
    await addSampleProject(app, account.id, picture)
    keep(true, picture)
  } else if (kept.picture === undefined) {
    await addSampleProject(app, account.id, picture)
    keep(true, picture)
  } else if (kept.picture !== picture) {
    await followPicture(app, account.id, kept.picture, picture)
    keep(true, picture)
  }
  const lists = await app.work(account.id, actor, listLists)
  const list = lists.find(({ name }) => name === sampleList) ?? lists[0]
  return { key: key.key, secret: webhook.secret, listId: list?.id ?? null }
}
