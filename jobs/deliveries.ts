import { runJob } from '../src/app/daemon/job.ts'
import { runDeliveries } from '../src/deliveries/queue/queue.ts'

await runJob('deliveries', { deliveries: runDeliveries })
