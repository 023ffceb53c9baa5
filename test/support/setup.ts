import { aroundAll, aroundEach } from 'vitest'
import { inScope } from './scope.ts'

// Hooks of one kind end at the first that throws; these run all the same.
aroundAll((run) => inScope(run))
aroundEach((run) => inScope(run))
