#!/usr/bin/env node
// The daemon's own command name, for process managers: `svcd …` is `svc serve …`.
process.argv.splice(2, 0, 'serve')
await import('./svc.ts')
