// Makes a release: npm run release <version> [-- --dry-run]. See docs/CONTRIBUTING.md, Releases.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'

/**
 * @param {string} program
 * @param {...string} args
 */
const run = (program, ...args) => execFileSync(program, args, { encoding: 'utf8' }).trim()

/** @param {string} version */
const numbersOf = (version) => version.split('.').map(Number)

/**
 * Whether version a comes before version b.
 *
 * @param {string} a
 * @param {string} b
 */
const isBefore = (a, b) => {
  const [left, right] = [numbersOf(a), numbersOf(b)]
  const at = left.findIndex((number, n) => number !== right[n])
  return at >= 0 && Number(left[at]) < Number(right[at])
}

/**
 * Returns why the version cannot be released; an empty list: it can.
 *
 * @param {string} version
 */
const reasonsAgainst = (version) => {
  if (!/^\d+\.\d+\.\d+$/.test(version)) return [`"${version}" is not a version: use three numbers, such as 1.2.3`]
  const reasons = []
  const current = JSON.parse(readFileSync('package.json', 'utf8')).version
  if (isBefore(version, current)) reasons.push(`package.json already has version ${current}`)
  const heading = readFileSync('CHANGELOG.md', 'utf8')
    .split('\n')
    .find((line) => line.startsWith(`## ${version} `))
  if (!/^## \S+ - \d{4}-\d{2}-\d{2}$/.test(heading ?? ''))
    reasons.push(`CHANGELOG.md needs the heading "## ${version} - <date>", with the date as YYYY-MM-DD`)
  if (run('git', 'status', '--porcelain')) reasons.push('The working tree has changes: commit them first')
  if (run('git', 'tag', '--list', `v${version}`)) reasons.push(`The tag v${version} exists`)
  return reasons
}

const { values, positionals } = parseArgs({ options: { 'dry-run': { type: 'boolean' } }, allowPositionals: true })
const [version = ''] = positionals
const reasons = reasonsAgainst(version)
if (reasons.length > 0) {
  process.stderr.write(reasons.map((reason) => `error: ${reason}\n`).join(''))
  process.exit(1)
}
if (values['dry-run']) {
  process.stdout.write(`v${version} can be released. Nothing was changed.\n`)
  process.exit(0)
}
run('npm', 'version', version, '--no-git-tag-version', '--allow-same-version')
if (run('git', 'status', '--porcelain')) run('git', 'commit', '--all', '--message', `Release ${version}`)
run('git', 'tag', '--annotate', `v${version}`, '--message', `Release ${version}`)
process.stdout.write(`v${version} is tagged. Publish it with: git push --follow-tags\n`)
