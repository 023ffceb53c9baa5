import { randomUUID } from 'node:crypto'
import { readFileSync, rmSync } from 'node:fs'
import { writeInside } from '../store/folder.ts'
import { mailModeFile } from './config.ts'

/** What the catcher does with mail: takes it, answers 5xx or 4xx, or says nothing when all of it has come. */
export const mailModes = ['accept', 'refuse', 'defer', 'hang'] as const
export type MailMode = (typeof mailModes)[number]

/** How the catcher is set. It stands in a file of the data folder: who sets it is another process than who follows it. */
export interface MailSetting {
  /** Of this setting: mail that is held is held until there is another one. Empty while nothing is set. */
  id: string
  mode: MailMode
  /** For how many more mails; then mail is accepted again. null: until it is set again. */
  times: number | null
}

const accepting: MailSetting = { id: '', mode: 'accept', times: null }

const write = (dataDir: string, setting: MailSetting): void =>
  writeInside(dataDir, mailModeFile(dataDir), JSON.stringify(setting))

const readSetting = (dataDir: string): MailSetting => {
  try {
    return JSON.parse(readFileSync(mailModeFile(dataDir), 'utf8'))
  } catch {
    return accepting
  }
}

/** What happens to the next mail. */
export const readMode = (dataDir: string): MailSetting => {
  const setting = readSetting(dataDir)
  return setting.times === 0 ? { ...accepting, id: setting.id } : setting
}

/** Sets what happens to the next mails, `times` of them or, with null, all; what is held is let go. */
export const setMode = (dataDir: string, mode: MailMode, times: number | null): MailSetting => {
  if (mode === 'accept') {
    rmSync(mailModeFile(dataDir), { force: true })
    return accepting
  }
  const setting = { id: randomUUID(), mode, times }
  write(dataDir, setting)
  return setting
}

/** What happens to the mail that is here, which counts as one of the setting's times. */
export const takeMode = (dataDir: string): MailSetting => {
  const setting = readMode(dataDir)
  if (setting.times !== null) write(dataDir, { ...setting, times: setting.times - 1 })
  return setting
}
