/* How an account's email is sent: its relay, its senders, and its domains with their DKIM keys. */

export { dkimSelector, domainContext, listDomains } from './domains.ts'
export { accessOf, relayOfUrl } from './relays.access.ts'
export { allRelays, type KnownRelay } from './relays.all.ts'
export { addSender, DisplayName, listSenders } from './senders.change.ts'
export {
  type From,
  type FromChoice,
  findFrom,
  type Method,
  readMethod,
  requireMethod,
  requireSender,
  senderChoice,
} from './senders.method.ts'

declare module '../store/work.ts' {
  interface Settings {
    /** The platform's relay. */
    readonly smtpUrl: string | null
  }
}
