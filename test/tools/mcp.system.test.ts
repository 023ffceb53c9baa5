import { expect, test } from 'vitest'
import { startSvc } from '../support/cli.ts'
import { confirmed, useAgents } from './mcp.support.ts'

const { t, made, start, replayFailed } = useAgents()

test('svc mcp serves an agent over its standard input and output', async () => {
  const session = await start({ asProcess: true, answers: [confirmed] })
  await replayFailed(session)
  const { checks } = await session.read('doctor')
  expect(checks).toContainEqual({ name: 'schema', status: 'ok', message: expect.any(String) })
})

test('it ends when stdin ends, and after signals, and prints nothing but messages', async () => {
  const request =
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}\n'
  const run = async (end: (child: ReturnType<typeof startSvc>) => void) => {
    const child = startSvc(t, ['mcp', '--account', made.account.id])
    let stdout = ''
    child.stdin.write(request)
    child.stdout.setEncoding('utf8').on('data', (text) => {
      stdout += text
      end(child)
    })
    const status = await new Promise((resolve) => child.on('close', (code) => resolve(code)))
    expect(
      stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).jsonrpc),
    ).toEqual(['2.0'])
    return status
  }
  const ends = [
    run((child) => child.stdin.end()),
    run((child) => child.kill('SIGTERM')),
    run((child) => child.kill('SIGINT')),
  ]
  expect(await Promise.all(ends)).toEqual([0, 0, 130])
})
