import { readFileSync } from 'node:fs'
import { createAccount, createKey, listAccounts, listKeys } from '../../accounts/accounts.ts'
import type { OpenApp } from '../../app/app.ts'
import { demoFile } from '../../app/config.ts'
import { createList, listLists, writeContacts } from '../../contacts/contacts.ts'
import { redirectTarget } from '../../deliveries/deliveries.ts'
import { writeInside } from '../../embedded/folder.ts'
import { eventTypes } from '../../events/events.ts'
import { createForm, FormFile } from '../../forms/forms.ts'
import { addSender, listSenders } from '../../senders/senders.ts'
import type { Work } from '../../store/work.ts'
import { applyProjects, listProjects, type loadTemplate, sampleProject } from '../../studio/studio.ts'
import { createWebhook } from '../../webhooks/webhooks.ts'

/** State of the demo that the database has only as hashes, or not at all. It is in a file that only its owner can read. */
interface DemoState {
  accountId: string
  keyId: string
  key: string
  webhookId: string
  /** The secret part of the receiver's path. */
  token: string
  /** Whether sample data was created. It is not created again after the user deleted it. */
  sampled: boolean
  /** The URL of the sample project's picture at the last start. It is undefined if the demo is older than the picture. */
  picture?: string
}

export interface Demo {
  key: string
  /** The signing secret of the subscription to the receiver page. */
  secret: string
  /** A list to write to, as a shell takes it: its name or its id; null where the user deleted them all. */
  list: string | null
  /** The version of the sample project that this start wrote. It is null if it wrote none. Its template is not rendered yet. */
  written: Parameters<typeof loadTemplate>[1] | null
}

const actor = 'cli:dev'
const accountName = 'demo'
/** Keys of all accounts begin alike, so the name says what this one is. */
const keyName = 'demo (test key)'
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

/** Returns the state of an earlier start; null at the first start, or if the file can't be read. */
export const readDemoState = (dataDir: string): DemoState | null => {
  try {
    return JSON.parse(readFileSync(demoFile(dataDir), 'utf8'))
  } catch {
    return null
  }
}

const writeDemoState = (dataDir: string, state: DemoState): void =>
  writeInside(demoFile(dataDir), `${JSON.stringify(state, null, 2)}\n`)

const requireAccount = (app: OpenApp): Promise<{ id: string }> =>
  app.operate(actor, async (operation) => {
    const found = (await listAccounts(operation)).find(({ name }) => name === accountName)
    return found ?? createAccount(operation, { name: accountName, plan: 'unlimited' })
  })

/** Returns the saved key unless it was revoked, otherwise a new one. */
const requireKey = (app: OpenApp, accountId: string, kept: DemoState | null) =>
  app.work(accountId, actor, async (work) => {
    const good = (await listKeys(work)).some(({ id, revokedAt }) => id === kept?.keyId && revokedAt === null)
    return good && kept ? { id: kept.keyId, key: kept.key } : createKey(work, { name: keyName })
  })

/** Updates the saved subscription to the receiver's current URL, or creates one to all events. */
const requireWebhook = async (app: OpenApp, accountId: string, url: string, kept: DemoState | null) => {
  if (kept) {
    const sealed = await app.work(accountId, actor, (work) => redirectTarget(work, kept.webhookId, url))
    if (sealed) return { id: kept.webhookId, secret: app.box.open(sealed, kept.webhookId) }
  }
  // The receiver is part of svc dev, so SVC_ALLOW_PRIVATE_WEBHOOKS does not apply.
  const origin = { createdVia: 'dashboard', trusted: true } as const
  return createWebhook(app, accountId, actor, { url, events: [...eventTypes] }, origin)
}

/** Adds a sender, so that the first email needs only one call. */
const addSampleSender = (app: OpenApp, accountId: string): Promise<void> =>
  app.work(accountId, actor, async (work) => {
    if ((await listSenders(work)).length > 0) return
    await addSender(work, { email: 'hello@sample.example', name: 'Demo' })
  })

/** Creates a list with contacts, whose events are the first deliveries, and a signup form. Fixed verification results avoid DNS lookups. */
const addSamples = (app: OpenApp, accountId: string): Promise<void> =>
  app.work(accountId, actor, async (work) => {
    if ((await listLists(work)).length > 0) return
    const { id } = await createList(work, { name: sampleList })
    const verifications = new Map(sampleContacts.map(({ email }) => [email, { status: 'valid' as const, reasons: [] }]))
    await writeContacts(work, id, sampleContacts, verifications)
    const form = { name: sampleForm, listId: id, fields: ['first_name', 'company'], doubleOptIn: true }
    await createForm(work, FormFile.parse(form))
  })

const applySample = async (work: Work, picture: string): Promise<Demo['written']> => {
  const [applied] = await applyProjects(work, [sampleProject(picture)])
  return { accountId: work.accountId, id: applied!.id!, version: applied!.version }
}

/** Adds a project with every block, so that the first such email needs only one command. */
const addSampleProject = (app: OpenApp, accountId: string, picture: string): Promise<Demo['written']> =>
  app.work(accountId, actor, async (work) =>
    (await listProjects(work)).length > 0 ? null : applySample(work, picture),
  )

/** Updates the picture's URL in the sample project if the user has not changed the project. */
const followPicture = (app: OpenApp, accountId: string, before: string, picture: string): Promise<Demo['written']> =>
  app.work(accountId, actor, async (work) => {
    const [found] = await applyProjects(work, [sampleProject(before)], { dryRun: true })
    return found?.outcome === 'unchanged' ? applySample(work, picture) : null
  })

/**
 * Prepares the account `demo` with a key, a subscription of the receiver at `hook` to every event and, at the first start,
 * sample data. Later starts create the key and the subscription again if they were revoked or deleted, but no sample data.
 * `picture` is the URL of the sample project's picture.
 */
export const prepareDemo = async (
  app: OpenApp,
  hook: { url: string; token: string },
  picture: string,
): Promise<Demo> => {
  const { dataDir } = app.config
  const account = await requireAccount(app)
  const saved = readDemoState(dataDir)
  const kept = saved?.accountId === account.id ? saved : null
  const [key, webhook] = await Promise.all([
    requireKey(app, account.id, kept),
    requireWebhook(app, account.id, hook.url, kept),
  ])
  const keep = (sampled: boolean, pictureNow: string | undefined) =>
    writeDemoState(dataDir, {
      accountId: account.id,
      keyId: key.id,
      key: key.key,
      webhookId: webhook.id,
      token: hook.token,
      sampled,
      ...(pictureNow !== undefined && { picture: pictureNow }),
    })
  keep(kept?.sampled ?? false, kept?.picture)
  let written: Demo['written'] = null
  if (!kept?.sampled) {
    await addSamples(app, account.id)
    await addSampleSender(app, account.id)
    written = await addSampleProject(app, account.id, picture)
    keep(true, picture)
  } else if (kept.picture === undefined) {
    written = await addSampleProject(app, account.id, picture)
    keep(true, picture)
  } else if (kept.picture !== picture) {
    written = await followPicture(app, account.id, kept.picture, picture)
    keep(true, picture)
  }
  const lists = await app.work(account.id, actor, listLists)
  const hasSample = lists.some(({ name }) => name === sampleList)
  const list = hasSample ? `"${sampleList}"` : (lists[0]?.id ?? null)
  return { key: key.key, secret: webhook.secret, list, written }
}
