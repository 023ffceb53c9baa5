import { parentPort, workerData } from 'node:worker_threads'
import ical from 'ical.js'
import { readBusy } from './bookings.ics.ts'

/*
 * The thread that reads an .ics file. Its starter ends it after a while, whatever the file makes the library do.
 */

const { text, window } = workerData as { text: string; window: Parameters<typeof readBusy>[2] }
parentPort!.postMessage(readBusy(ical, text, window))
