import { type From, type FromChoice, findFrom, requireMethod, senderChoice } from '../senders/senders.ts'
import type { Row } from '../store/tables.ts'
import type { App, Work } from '../store/work.ts'
import { findProject } from '../studio/studio.ts'
import type { broadcasts } from './broadcasts.columns.ts'
import type { Letter } from './broadcasts.entities.ts'

/** The columns that say what a draft chooses of its letter. */
export const choiceColumns = ['projectId', 'subject', 'variants', 'sender', 'replyTo'] as const

/**
 * What a draft chooses of its letter. A null stands for the name of the project, the account's default sender, and that sender's
 * reply-to.
 */
type LetterChoice = Row<typeof broadcasts, (typeof choiceColumns)[number]>

const choiceOf = ({ sender, replyTo }: LetterChoice): FromChoice => ({
  ...(sender !== null && senderChoice(sender)),
  ...(replyTo !== null && { replyTo }),
})

const letterOf = async (work: Work, choice: LetterChoice, { address, fromName, replyTo }: From): Promise<Letter> => {
  const project = await findProject(work, choice.projectId)
  return {
    projectVersion: project.version,
    subject: choice.subject ?? project.name,
    ...(choice.variants && { subjects: choice.variants.subjects }),
    from: { email: address, name: fromName },
    replyTo,
  }
}

/**
 * Returns what a draft would send now. Throws Problem `not_found` if its project was deleted, `invalid` if the account has no sending
 * method or may not use the sender.
 */
export const composeLetter = async (app: App, work: Work, choice: LetterChoice): Promise<Letter> =>
  letterOf(work, choice, await requireMethod(app, work, choiceOf(choice)))

/**
 * Returns the letter of a broadcast that an earlier version sent, which fixed none. Returns null if the account can't
 * send; the records of its messages then say why.
 */
export const lateLetter = async (app: App, work: Work, choice: LetterChoice): Promise<Letter | null> => {
  const found = await findFrom(app, work, [choiceOf(choice)])
  const project = await app.projects?.loadProject(work, choice.projectId)
  return found && project ? letterOf(work, choice, found.from) : null
}

/** Returns the choice that selects the sender of the letter for a message, if the account may still use it. */
export const fromOfLetter = ({ from, replyTo }: Letter): FromChoice => ({ from, replyTo })
