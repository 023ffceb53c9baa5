export { examine } from './doctor.ts'
export { openSealed, sealAnew } from './rotate.ts'
