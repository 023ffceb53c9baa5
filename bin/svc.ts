#!/usr/bin/env node
const v: string = process.version; console.log(v, process.execPath, process.argv.slice(2), process.cwd())
