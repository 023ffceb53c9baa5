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

const initialize =
  '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}\n'

test('it ends when stdin ends, and after signals, and prints nothing but messages', async () => {
  const run = async (end: (child: ReturnType<typeof startSvc>) => void) => {
    const child = startSvc(t, ['mcp', '--account', made.account.id])
    let stdout = ''
    child.stdin.write(initialize)
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

test('it ends after a message that is too long, and when the client no longer reads', async () => {
  const run = async (act: (child: ReturnType<typeof startSvc>) => void) => {
    const child = startSvc(t, ['mcp', '--account', made.account.id])
    let stderr = ''
    child.stderr.setEncoding('utf8').on('data', (text) => {
      stderr += text
    })
    child.stdin.on('error', () => {})
    child.stdin.write(initialize)
    child.stdout.once('data', () => act(child))
    const status = await new Promise((resolve) => child.on('close', (code) => resolve(code)))
    return [status, stderr]
  }
  const long = run(({ stdin, stdout }) => {
    stdout.resume()
    stdin.write('{"jsonrpc":"2.0"}\n')
    stdin.write(`{"jsonrpc":"2.0","id":2,"method":"ping","params":{"text":"${'a'.repeat(11_000_000)}"}}\n`)
  })
  expect(await long).toEqual([0, expect.stringMatching(/^protocol: a message is not JSON-RPC 2.0\nprotocol: .*size/)])
  const deaf = run(({ stdin, stdout }) => {
    stdout.destroy()
    for (let id = 2; id < 10; id++) stdin.write(`{"jsonrpc":"2.0","id":${id},"method":"tools/list"}\n`)
  })
  expect((await deaf)[0]).toBe(0)
})
