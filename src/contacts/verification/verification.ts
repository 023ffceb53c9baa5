export { isInconclusive, resultOf, type VerificationResult } from './result.ts'
export { reverify } from './reverify.ts'
export { type AddressSignal, addAddressSignal, removeAddressSignals, withSignals } from './signals.ts'
export { verifyAddresses } from './verify.ts'
