import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { Problem } from './problem.ts'

const version = 'v1.'
const nonceBytes = 12
const tagBytes = 16

/** Encrypts and decrypts secrets that must be readable later: signing secrets, relay passwords (docs/reference/rules.md#accounts-keys-and-plans). */
export interface SecretBox {
  /** `context` (the id of the secret's row) must be the same in `open`, so that a sealed text can't be moved to another row. */
  seal(plain: string, context: string): string
  /** Throws Problem `configuration` if the text was sealed with another key or context, or was changed. */
  open(sealed: string, context: string): string
}

const cannotDecrypt = () =>
  new Problem(
    'configuration',
    "A stored secret can't be decrypted: SVC_SECRET is not the one that encrypted it, or the stored value was changed",
    {
      hint: 'start with the SVC_SECRET that this database was used with',
    },
  )

/**
 * Returns 64 hex digits that identify a `SVC_SECRET` without revealing it: a key that is derived only for this purpose and
 * decrypts nothing.
 */
export const secretFingerprint = (secretText: string): string =>
  Buffer.from(hkdfSync('sha256', secretText, '', 'svc secret fingerprint v1', 32)).toString('hex')

/**
 * Returns a box that encrypts with AES-256-GCM under a key derived from `secretText` (`SVC_SECRET`). A sealed text is `v1.` and
 * the base64url of nonce, ciphertext and tag.
 */
export const createSecretBox = (secretText: string): SecretBox => {
  const key = Buffer.from(hkdfSync('sha256', secretText, '', 'svc stored secrets v1', 32))
  return {
    seal(plain, context) {
      const nonce = randomBytes(nonceBytes)
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(context))
      const sealed = Buffer.concat([nonce, cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()])
      return version + sealed.toString('base64url')
    },
    open(sealed, context) {
      const bytes = Buffer.from(sealed.slice(version.length), 'base64url')
      if (!sealed.startsWith(version) || bytes.length < nonceBytes + tagBytes) throw cannotDecrypt()
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes })
      decipher.setAAD(Buffer.from(context)).setAuthTag(bytes.subarray(-tagBytes))
      try {
        return decipher.update(bytes.subarray(nonceBytes, -tagBytes), undefined, 'utf8') + decipher.final('utf8')
      } catch {
        throw cannotDecrypt()
      }
    },
  }
}
