#!/usr/bin/env node
import module from 'node:module'

// Whatever the umask is, nobody else writes what we make: neither data nor the code compiled below.
process.umask(process.umask() | 0o022)

// Compiled and stripped once: by the variable the threads of the jobs share it, which saves them 20 MB each.
const { directory } = module.enableCompileCache()
if (directory) process.env.NODE_COMPILE_CACHE ??= directory

const { buildProgram, runProgram } = await import('../src/cli/program.ts')
const { loadCommands } = await import('../src/app/commands.ts')

const open = async () => {
  const [{ openApp }, { readConfig }] = await Promise.all([import('../src/app/app.ts'), import('../src/app/config.ts')])
  return openApp(readConfig(), { connections: 4, name: 'svc cli' })
}

await runProgram(buildProgram(await loadCommands(process.argv.slice(2)), open), process.argv)
