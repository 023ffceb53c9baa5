import { test } from 'vitest'
import { randomOfTest } from '../support/random.ts'

for (const name of ['one', 'two', 'three', 'four', 'five', 'six'])
  test(name, () => {
    process.stdout.write(`${name}=${randomOfTest().next()}\n`)
    if (process.env.FAILS === name) throw new Error('as asked')
  })
