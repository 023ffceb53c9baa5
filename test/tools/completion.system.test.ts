import { execFile } from 'node:child_process'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { program as entry, inherited, svc } from '../support/cli.ts'
import { needs } from '../support/needs.ts'
import { waitLimitMs } from '../support/slowness.ts'

const run = promisify(execFile)
let folder: string
let env: NodeJS.ProcessEnv

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-completion-'))
  await writeFile(join(folder, 'svc'), `#!/bin/sh\nexec "${process.execPath}" "${entry}" "$@"\n`)
  await chmod(join(folder, 'svc'), 0o755)
  env = { ...inherited(), PATH: `${folder}${delimiter}${process.env.PATH}`, HOME: folder, TERM: 'dumb' }
  for (const shell of ['bash', 'zsh', 'fish'])
    await writeFile(join(folder, shell), (await svc({ env: {} }, ['completion', shell])).stdout)
  await writeFile(join(folder, 'my file.csv'), '')
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe('in real shells', () => {
  test('bash', async () => {
    const script = `source '${folder}/bash'
      ask() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _svc svc; echo "\${COMPREPLY[*]}"; }
      ask svc deliv; ask svc deliveries list --status ''; ask svc sends list --status = s; cd '${folder}'; ask svc contacts import zs
      COMP_WORDS=('~/svc' deliv); COMP_CWORD=1; _svc '~/svc'; echo "\${COMPREPLY[*]}"
      complete -p svc`
    const { stdout } = await run('bash', ['--norc', '--noprofile', '-c', script], { env })
    expect(stdout.split('\n')).toEqual([
      'deliveries',
      'pending delivered exhausted cancelled',
      'sent suppressed',
      'zsh',
      'deliveries',
      'complete -F _svc svc',
      '',
    ])
  })

  test('zsh', needs('zsh'), async () => {
    // The keys are typed into a terminal: the line after the tab is what a person would see.
    const script = `zmodload zsh/zpty
      zpty -b line zsh -f -i
      seen=
      ask() {
        local part i
        for ((i = 0; i < ${waitLimitMs / 50}; i++)); do
          while zpty -r -t line part; do seen+=$part; done
          [[ $seen == *$1* ]] && return 0
          sleep 0.05
        done
        print -r -- "not seen: $1 in \${(q)seen}"; exit 1
      }
      zpty -w line "PROMPT=; autoload -Uz compinit; compinit -D -u; source ${folder}/zsh; echo rea''dy"
      ask ready
      zpty -w -n line $'svc deliv\\t'
      ask 'svc deliveries'
      zpty -w -n line $'li\\t--status exh\\t'
      ask '--status exhausted'
      zpty -w -n line $'\\x15~/svc journ\\t'
      ask '~/svc journeys'
      zpty -w -n line $'\\x15svc contacts import --rejects=~/my\\t'
      ask '--rejects=~/my\\ file.csv'
      print ok`
    const { stdout } = await run('zsh', ['-f', '-c', script], { env: { ...env, TERM: 'xterm' } })
    expect(stdout.trim()).toBe('ok')
  })

  test('fish', needs('fish'), async () => {
    const asks = [
      'svc deliv',
      'svc deliveries list --status ',
      'svc sends list --status=s',
      '~/svc deliv',
      `svc contacts import ${folder}/zs`,
      'svc contacts import ~/zs',
      `svc contacts import "${folder}/my f`,
      `svc contacts import ${folder}/my\\\\ f`,
      `svc contacts import --rejects=${folder}/zs`,
    ]
    const script = [`source ${folder}/fish`, ...asks.map((ask) => `complete -C '${ask}'`)].join('; ')
    const { stdout } = await run('fish', ['--no-config', '-c', script], { env })
    expect(stdout.trim().split('\n')).toEqual([
      'deliveries\tWebhook deliveries: inspect, replay, cancel',
      ...['pending', 'delivered', 'exhausted', 'cancelled'],
      ...['--status=sent', '--status=suppressed'],
      'deliveries\tWebhook deliveries: inspect, replay, cancel',
      `${folder}/zsh`,
      '~/zsh',
      `${folder}/my file.csv`,
      `${folder}/my file.csv`,
      `--rejects=${folder}/zsh`,
    ])
  })
})
