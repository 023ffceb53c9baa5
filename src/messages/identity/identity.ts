/* With which relay, sender and DKIM key an account's email is sent. */

export { accessOf, relayOfUrl } from './access.ts'
export {
  addDomain,
  type DomainRecord,
  type DomainView,
  deleteDomain,
  dkimSelector,
  domainContext,
  listDomains,
  showDomain,
  verifyDomain,
} from './identity.domains.ts'
export {
  type From,
  type FromChoice,
  findFrom,
  type Method,
  readMethod,
  requireMethod,
  requireSender,
  senderChoice,
} from './method.ts'
export { allRelays, type KnownRelay } from './relays.all.ts'
export { setRelay, showRelay, testRelay, unsetRelay } from './relays.ts'
export {
  addSender,
  deleteSender,
  findSender,
  listSenders,
  makeDefaultSender,
  type SenderView,
} from './senders.ts'
