#!/usr/bin/env node
import module from 'node:module'

// Other users must not be able to write our files, whatever the umask is: neither data nor the compile cache.
process.umask(process.umask() | 0o022)

// The variable shares the compile cache with the threads of the jobs, which saves 20 MB for each thread.
const { directory } = module.enableCompileCache()
if (directory) process.env.NODE_COMPILE_CACHE ??= directory

const { buildProgram, runProgram } = await import('../src/cli/program.ts')
const { loadCommands } = await import('../src/app/commands.ts')

const open = async () => (await import('../src/app/open.ts')).openForCommand()

const loadChoices = async () => (await import('../src/app/choices.ts')).choicesOf

await runProgram(buildProgram(await loadCommands(process.argv.slice(2)), open, loadChoices), process.argv)
