// Posts webhook deliveries when they are due. Runs as long as the daemon.
import { runJob } from '../src/app/daemon/job.ts'
import { runDeliveries } from '../src/deliveries/queue/queue.ts'

await runJob('deliveries', { connections: 4, queue: true }, runDeliveries)
