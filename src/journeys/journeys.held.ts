import type { HeldPart } from '../store/work.ts'
import { runsOf } from './journeys.runs.ts'

/** An address's runs through journeys, with what started them. */
export const held: HeldPart = { name: 'journeyRuns', read: runsOf }
