import { z } from 'zod'

/** The names of events that programs report (POST /events). */
const eventNamePattern = /^[a-z][a-z0-9_.-]{0,63}$/

/** The rule of `eventNamePattern` for errors. */
const eventNameRule = 'must be 1 to 64 of a-z, 0-9, "_", "." and "-", beginning with a letter'

/** Schema of the name of a reported event. */
export const eventName = () => z.string().regex(eventNamePattern, eventNameRule)
