import { execFile, spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { newSigningSecret, sign, verify } from '../../src/lib/signature.ts'
import { needs, pathOf, skipUnless } from '../support/needs.ts'

/* Runs the functions of docs/recipes/verify-webhooks.md, as they are printed there, on the same deliveries as our own verifier. */

const page = await readFile(join(import.meta.dirname, '../../docs/recipes/verify-webhooks.md'), 'utf8')
const codeOf = (language: string): string => new RegExp(`\`\`\`${language}\\n([\\s\\S]+?)\`\`\``).exec(page)![1]!

/** Reads one case a line, with a body in base64, and prints true, false or error for each. */
const languages = [
  {
    language: 'python',
    program: 'python3',
    files: (code: string) => ({
      'run.py': `${code}
import base64, json, sys
for line in sys.stdin:
    one = json.loads(line)
    try:
        print("true" if verify_webhook(one["secret"], one["timestamp"], one["signature"], base64.b64decode(one["body"])) is True else "false")
    except ValueError:
        print("error")
`,
    }),
    command: ['python3', 'run.py'],
  },
  {
    language: 'go',
    program: 'go',
    files: (code: string) => ({
      'go.mod': 'module receiver\n',
      'verify.go': code,
      'main.go': `package main
import ("bufio"; "encoding/json"; "fmt"; "os")
func main() {
	scanner := bufio.NewScanner(os.Stdin)
	for scanner.Scan() {
		var one struct { Secret, Timestamp, Signature string; Body []byte }
		if err := json.Unmarshal(scanner.Bytes(), &one); err != nil { panic(err) }
		ok, err := VerifyWebhook(one.Secret, one.Timestamp, one.Signature, one.Body)
		if err != nil { fmt.Println("error") } else { fmt.Println(ok) }
	}
}
`,
    }),
    command: ['go', 'run', '.'],
  },
  {
    language: 'php',
    program: 'php',
    files: (code: string) => ({
      'run.php': `${code}
while (($line = fgets(STDIN)) !== false) {
    $one = json_decode($line, true);
    try {
        echo verify_webhook($one['secret'], $one['timestamp'], $one['signature'], base64_decode($one['body'])) ? 'true' : 'false', "\\n";
    } catch (InvalidArgumentException $_) {
        echo "error\\n";
    }
}
`,
    }),
    command: ['php', 'run.php'],
  },
  {
    language: 'ruby',
    program: 'ruby',
    files: (code: string) => ({
      'run.rb': `${code}
require "json"
STDIN.each_line do |line|
  one = JSON.parse(line)
  begin
    puts verify_webhook(one["secret"], one["timestamp"], one["signature"], one["body"].unpack1("m")) == true
  rescue ArgumentError
    puts "error"
  end
end
`,
    }),
    command: ['ruby', 'run.rb'],
  },
]

const secret = newSigningSecret()
const old = newSigningSecret()
const now = () => Math.floor(Date.now() / 1000)
const body = Buffer.from('{"id":"evt_1","name":"Zoë"}\n')
const binary = Buffer.from([0, 255, 254, 10, 13, 128])

const cases = () => {
  const time = String(now())
  const good = { secret, timestamp: time, signature: sign(secret, time, body), body }
  const at = (timestamp: string) => ({ ...good, timestamp, signature: sign(secret, timestamp, body) })
  const other = sign(old, time, body)
  return {
    good,
    'a body that is not text': { ...good, body: binary, signature: sign(secret, time, binary) },
    'an empty body': { ...good, body: Buffer.alloc(0), signature: sign(secret, time, '') },
    'new,old': { ...good, signature: `${good.signature},${other}` },
    'old,new': { ...good, signature: `${other},${good.signature}` },
    'the old secret of a rotation': { ...good, secret: old, signature: `${good.signature},${other}` },
    'four minutes ago': at(String(now() - 240)),
    'four minutes ahead': at(String(now() + 240)),
    'six minutes ago': at(String(now() - 360)),
    'six minutes ahead': at(String(now() + 360)),
    'another secret': { ...good, signature: other },
    'another body': { ...good, body: Buffer.from('{}') },
    'another time': { ...good, timestamp: String(now() - 1) },
    'no signature': { ...good, signature: '' },
    'no timestamp': { ...good, timestamp: '' },
    'no digest': { ...good, signature: 'v1=' },
    'another version': { ...good, signature: good.signature.replace('v1=', 'v0=') },
    'upper case': { ...good, signature: good.signature.toUpperCase() },
    'half a digest': { ...good, signature: good.signature.slice(0, 35) },
    'a longer digest': { ...good, signature: `${good.signature}00` },
    'a signature that is not ASCII': { ...good, signature: 'v1=é…' },
    'a blank in the list': { ...good, signature: `${other}, ${good.signature}` },
    'only commas': { ...good, signature: ',,' },
    'a time in hexadecimal': at('0x65000000'),
    'a negative time': at('-1'),
    'a time with a fraction': at(`${time}.0`),
    'a time with a line break': at(`${time}\n`),
    'a time of a year 30,000': at('999999999999'),
    'a time with too many digits': at('9'.repeat(25)),
    'an empty secret': { ...good, secret: '', signature: sign('', time, body) },
  }
}

type Case = ReturnType<typeof cases>['good']

const ours = ({ secret, timestamp, signature, body }: Case): string => {
  if (secret === '') return 'error'
  const headers = { 'x-service-timestamp': timestamp, 'x-service-signature': signature }
  return String(verify(secret, headers, body, Date.now()) === 'ok')
}

/** Go compiles its standard library at the first use, which takes a minute. */
const isGoReady = (): boolean => {
  const listed = spawnSync('go', ['list', '-f', '{{.Stale}}', 'encoding/json'], { encoding: 'utf8' })
  return listed.stdout?.trim() === 'false'
}

const optionsOf = (program: string) =>
  program === 'go' && pathOf('go')
    ? skipUnless(isGoReady(), 'Go has not compiled encoding/json yet: go build encoding/json crypto/hmac')
    : needs(program)

for (const { language, program, files, command } of languages) {
  test(`the receiver in ${language} accepts and refuses what ours does`, optionsOf(program), async () => {
    const folder = await mkdtemp(join(tmpdir(), `svc-verify-${language}-`))
    try {
      for (const [name, text] of Object.entries(files(codeOf(language)))) await writeFile(join(folder, name), text)
      const given: Record<string, Case> = cases()
      const lines = Object.values(given).map(
        (one) => `${JSON.stringify({ ...one, body: one.body.toString('base64') })}\n`,
      )
      const [name, ...args] = command
      const output = await new Promise<string>((resolve, reject) => {
        const child = execFile(name!, args, { cwd: folder }, (error, stdout, stderr) =>
          error ? reject(new Error(stderr)) : resolve(stdout),
        )
        child.stdin!.end(lines.join(''))
      })
      const names = Object.keys(given)
      const results = Object.fromEntries(
        output
          .trim()
          .split('\n')
          .map((result, i) => [names[i], result]),
      )
      expect(results).toEqual(Object.fromEntries(Object.entries(given).map(([name, one]) => [name, ours(one)])))
      expect(Object.entries(results).filter(([, result]) => result === 'true').length).toBe(8)
    } finally {
      await rm(folder, { recursive: true })
    }
  })
}
