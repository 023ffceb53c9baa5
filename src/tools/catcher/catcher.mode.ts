import { randomUUID } from 'node:crypto'
import { readFileSync, rmSync } from 'node:fs'
import { mailModeFile } from '../../app/config.ts'
import { writeInside } from '../../embedded/folder.ts'

/** What the catcher does with messages: accept, answer 5xx or 4xx, or leave the complete message unanswered. */
export const mailModes = ['accept', 'refuse', 'defer', 'hang'] as const
export type MailMode = (typeof mailModes)[number]

/** The mode of the catcher. It is in a file of the data folder, since one process sets it and another one follows it. */
export interface MailSetting {
  /** Identifies this setting: held messages wait until the id changes. It is empty for the default. */
  id: string
  mode: MailMode
  /**
   * For how many more messages the mode holds; then the catcher accepts again. It is null if the mode holds until it is changed.
   */
  times: number | null
}

const accepting: MailSetting = { id: '', mode: 'accept', times: null }

const write = (dataDir: string, setting: MailSetting): void =>
  writeInside(mailModeFile(dataDir), JSON.stringify(setting))

const readSetting = (dataDir: string): MailSetting => {
  try {
    return JSON.parse(readFileSync(mailModeFile(dataDir), 'utf8'))
  } catch {
    return accepting
  }
}

/** Returns the setting for the next message. */
export const readMode = (dataDir: string): MailSetting => {
  const setting = readSetting(dataDir)
  return setting.times === 0 ? { ...accepting, id: setting.id } : setting
}

/** Sets the mode for the next `times` messages, or with null for all. Releases held messages. */
export const setMode = (dataDir: string, mode: MailMode, times: number | null): MailSetting => {
  if (mode === 'accept') {
    rmSync(mailModeFile(dataDir), { force: true })
    return accepting
  }
  const setting = { id: randomUUID(), mode, times }
  write(dataDir, setting)
  return setting
}

/** Returns the setting for a received message, and counts it as one of `times`. */
export const takeMode = (dataDir: string): MailSetting => {
  const setting = readMode(dataDir)
  if (setting.times !== null) write(dataDir, { ...setting, times: setting.times - 1 })
  return setting
}
