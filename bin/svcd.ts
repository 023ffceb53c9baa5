#!/usr/bin/env node
// The daemon under a name of its own, for process managers: `svcd …` is `svc serve …`.
process.argv.splice(2, 0, 'serve')
await import('./svc.ts')
