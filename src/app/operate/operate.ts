export { examine } from './doctor.ts'
