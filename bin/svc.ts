#!/usr/bin/env node
import { prepareProcess } from './prepare.mjs'

prepareProcess()

const { buildProgram, runProgram } = await import('../src/cli/program.ts')
const { loadCommands } = await import('../src/tools/commands.ts')

const open = async () => (await import('../src/app/open.ts')).openForCommand()

const loadChoices = async () => (await import('../src/tools/choice-values.ts')).choicesOf
const loadLookups = async () => (await import('../src/tools/command-lookups.ts')).lookups

await runProgram(buildProgram(await loadCommands(process.argv.slice(2)), open, loadChoices, loadLookups), process.argv)
