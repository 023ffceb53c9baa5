// After `tsc -p tsconfig.build.json`: makes dist/ the folder that is published, with JS behind `svc` and `svcd`.
import { chmodSync, copyFileSync, readFileSync, writeFileSync } from 'node:fs'

const {
  private: _,
  scripts: __,
  devDependencies: ___,
  workspaces: ____,
  ...manifest
} = JSON.parse(readFileSync('package.json', 'utf8'))
const bin = Object.fromEntries(
  Object.entries<string>(manifest.bin).map(([name, file]) => [name, file.replace(/\.ts$/, '.js')]),
)
writeFileSync('dist/package.json', `${JSON.stringify({ ...manifest, bin }, null, 2)}\n`)
for (const file of ['README.md', 'LICENSE', 'CHANGELOG.md']) copyFileSync(file, `dist/${file}`)
for (const file of Object.values(bin)) chmodSync(`dist/${file}`, 0o755)
