// Packs the client and the verifier of webhooks as a package of their own, without dependencies: npm run client:pack [-- <folder>].
// Prints the path of the file.
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const [destination = '.'] = process.argv.slice(2)
const { version, license } = JSON.parse(readFileSync('package.json', 'utf8'))
const folder = mkdtempSync(join(tmpdir(), 'svc-client-'))
try {
  const entry = (/** @type {string} */ name) => ({ types: `./${name}.d.ts`, default: `./${name}.js` })
  const description = 'Typed client of the REST API of svc, and the verifier of its webhooks'
  const exported = { '.': entry('client/client'), './webhooks': entry('lib/webhooks') }
  const manifest = { name: 'svcd-engagement-client', version, description, license, type: 'module', exports: exported }
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  copyFileSync('LICENSE', join(folder, 'LICENSE'))
  const emit = ['-p', 'tsconfig.types.json', '--outDir', folder, '--rootDir', 'src', '--emitDeclarationOnly', 'false']
  execFileSync('tsc', [...emit, '--noCheck'], { stdio: 'inherit' })
  const packed = execFileSync('npm', ['pack', '--silent', '--pack-destination', resolve(destination)], { cwd: folder })
  process.stdout.write(`${resolve(destination, packed.toString().trim())}\n`)
} finally {
  rmSync(folder, { recursive: true })
}
