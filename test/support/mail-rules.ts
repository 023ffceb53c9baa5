import { expect } from 'vitest'
import { brokenRules } from '../../src/tools/console/console.rules.ts'

export { brokenRules, buttonsIn, imagesIn } from '../../src/tools/console/console.rules.ts'

/** Expects an email to keep the rules of mail programs. */
export const expectMailRules = (html: string): void => expect(brokenRules(html)).toEqual([])
