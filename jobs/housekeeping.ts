// Every minute: retention, verdicts to look at again, spent windows. One run, then the thread ends.
import { keepHouse } from '../src/app/housekeeping.ts'
import { runJob } from '../src/app/job.ts'

await runJob('housekeeping', { connections: 2 }, keepHouse)
