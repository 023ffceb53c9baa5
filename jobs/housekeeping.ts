import { runThread } from '../src/app/daemon/thread.ts'

// The thread ends after one run.
await runThread('housekeeping')
