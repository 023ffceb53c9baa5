import { runHousekeeping } from '../src/app/daemon/housekeeping.ts'
import { runJob } from '../src/app/daemon/job.ts'

// The thread ends after one run.
await runJob('housekeeping', runHousekeeping)
