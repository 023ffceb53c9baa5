export { examine } from './doctor.ts'
export { openSealed, sealTexts } from './rotate.ts'
