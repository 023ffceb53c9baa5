import { loadListeners, loadPages, loadRoutes } from '../../src/app/features.ts'
import '../../src/app/open.ts'
import '../../src/http/server.ts'
import { loadCommands } from '../../src/tools/commands.ts'
import { loadEntities } from './entities.ts'

// Loads what most files of tests load, so that Node's compile cache has it when this process ends (global.ts).
await Promise.all([loadEntities(), loadListeners(), loadPages(), loadRoutes(), loadCommands()])
