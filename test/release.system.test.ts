import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'

const run = promisify(execFile)
const root = join(import.meta.dirname, '..')
const changelog = '# Changelog\n\n## Unreleased\n\n## 1.2.0 - 2026-01-31\n\n## 1.1.0\n'

let folder: string

const git = async (...args: string[]): Promise<string> => (await run('git', args, { cwd: folder })).stdout.trim()

/** Runs the script in the folder. */
const release = (...args: string[]) => {
  const identity = {
    GIT_AUTHOR_NAME: 'a',
    GIT_AUTHOR_EMAIL: 'a@b',
    GIT_COMMITTER_NAME: 'a',
    GIT_COMMITTER_EMAIL: 'a@b',
  }
  const env = { ...process.env, ...identity }
  return run(process.execPath, [join(root, '.ci/release.mjs'), ...args], { cwd: folder, env }).then(
    ({ stdout }) => ({ status: 0, text: stdout }),
    ({ code, stderr }) => ({ status: code, text: stderr }),
  )
}

const versions = async (): Promise<string[]> => {
  const [own, lock] = await Promise.all(
    ['package.json', 'package-lock.json'].map(async (file) => JSON.parse(await readFile(join(folder, file), 'utf8'))),
  )
  return [own.version, lock.version, lock.packages[''].version]
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-release-'))
  const named = { name: 'x', version: '1.1.0' }
  const files = {
    'package.json': JSON.stringify({ ...named, private: true }),
    'package-lock.json': JSON.stringify({ ...named, lockfileVersion: 3, packages: { '': named } }),
    'CHANGELOG.md': changelog,
  }
  for (const [file, text] of Object.entries(files)) await writeFile(join(folder, file), text)
  await git('init', '--quiet')
  await git('add', '.')
  await git('-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '--quiet', '--message', 'Start')
})
afterEach(() => rm(folder, { recursive: true, force: true }))

test('a release sets the version, commits and tags', async () => {
  expect(await release('1.2.0')).toEqual({ status: 0, text: expect.stringContaining('v1.2.0 is tagged') })
  expect(await versions()).toEqual(['1.2.0', '1.2.0', '1.2.0'])
  expect([await git('tag'), await git('log', '-1', '--format=%s'), await git('status', '--porcelain')]).toEqual([
    'v1.2.0',
    'Release 1.2.0',
    '',
  ])
})

test('a version that package.json already has is only tagged', async () => {
  await release('1.2.0')
  await git('tag', '--delete', 'v1.2.0')
  const before = await git('rev-parse', 'HEAD')
  expect((await release('1.2.0')).status).toBe(0)
  expect([await git('tag'), await git('rev-parse', 'HEAD')]).toEqual(['v1.2.0', before])
})

test('--dry-run changes nothing', async () => {
  expect(await release('1.2.0', '--dry-run')).toEqual({ status: 0, text: expect.stringContaining('can be released') })
  expect([await git('tag'), (await versions())[0]]).toEqual(['', '1.1.0'])
})

test.each([
  ['', 'is not a version'],
  ['1.2', 'is not a version'],
  ['v1.2.0', 'is not a version'],
  ['1.0.9', 'already has version 1.1.0'],
  ['1.1.0', 'needs the heading "## 1.1.0 - <date>"'],
  ['1.3.0', 'needs the heading "## 1.3.0 - <date>"'],
])('%j is refused: %s', async (version, reason) => {
  expect(await release(version)).toEqual({ status: 1, text: expect.stringContaining(reason) })
  expect([await git('tag'), (await versions())[0]]).toEqual(['', '1.1.0'])
})

test('a tag that exists, and changes that are not committed, are refused together', async () => {
  await git('tag', 'v1.2.0')
  await writeFile(join(folder, 'new.txt'), '')
  const { status, text } = await release('1.2.0')
  expect([status, text.trim().split('\n').length]).toEqual([1, 2])
})

test('the version of this checkout can be released: CHANGELOG.md has it with a date', async () => {
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  expect(await readFile(join(root, 'CHANGELOG.md'), 'utf8')).toMatch(
    new RegExp(`^## ${version.replaceAll('.', '\\.')} - \\d{4}-\\d{2}-\\d{2}$`, 'm'),
  )
  const lock = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8'))
  expect([lock.version, lock.packages[''].version]).toEqual([version, version])
})
