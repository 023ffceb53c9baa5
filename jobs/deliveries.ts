import { runThread } from '../src/app/daemon/thread.ts'

await runThread('deliveries')
