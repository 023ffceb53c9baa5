// Posts webhook deliveries as they come due. Lives as long as the daemon.
import { runJob } from '../src/app/job.ts'
import { runDeliveries } from '../src/deliveries/delivery.loop.ts'

await runJob('deliveries', { connections: 4, queue: true }, runDeliveries)
