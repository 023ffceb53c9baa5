// Runs every minute: retention, repeated domain checks, expired rate windows. The thread ends after one run.
import { runHousekeeping } from '../src/app/daemon/housekeeping.ts'
import { runJob } from '../src/app/daemon/job.ts'

await runJob('housekeeping', { connections: 2 }, runHousekeeping)
