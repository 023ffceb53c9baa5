import { execFileSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { certificate, certificateKey } from './certificate.ts'
import { spawnInTest } from './children.ts'
import { freePort } from './daemon.ts'
import { eventually } from './eventually.ts'
import { isRoot, pathOf } from './needs.ts'

export interface Dovecot {
  port: number
  /** With TLS from the first byte, with the certificate of `tls.test`. */
  securePort: number
  /** Puts a message into the inbox of a user, and creates the user if necessary. */
  deliver(user: string, message: string): Promise<void>
  /** The number of unread and read messages in the inbox. */
  tally(user: string): Promise<{ unread: number; read: number }>
  close(): Promise<void>
}

/** Starts a real IMAP server on loopback ports; the password of every user is `secret`. */
export const openDovecot = async (): Promise<Dovecot> => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-dovecot-'))
  await chmod(folder, 0o755)
  const [port, securePort] = [await freePort(), await freePort()]
  const at = (...parts: string[]) => join(folder, ...parts)
  await Promise.all([mkdir(at('run')), mkdir(at('state')), mkdir(at('mail'))])
  await Promise.all([writeFile(at('key.pem'), certificateKey), writeFile(at('certificate.pem'), certificate)])
  // Without root, one user runs every process of the server.
  const nameOf = (flags: string) => execFileSync('id', [flags], { encoding: 'utf8' }).trim()
  const [user, group] = isRoot ? ['nobody', 'nogroup'] : [nameOf('-un'), nameOf('-gn')]
  await writeFile(
    at('dovecot.conf'),
    `base_dir = ${at('run')}
state_dir = ${at('state')}
log_path = ${at('log')}
protocols = imap
listen = 127.0.0.1
ssl = yes
ssl_cert = <${at('certificate.pem')}
ssl_key = <${at('key.pem')}
disable_plaintext_auth = no
auth_failure_delay = 0
first_valid_uid = 0
default_internal_user = ${user}
default_login_user = ${user}
default_internal_group = ${group}
mail_location = maildir:${at('mail')}/%u
passdb {
  driver = static
  args = password=secret
}
userdb {
  driver = static
  args = uid=${user} gid=${group} home=${at('mail')}/%u
}
service imap-login {
  chroot =
  inet_listener imap {
    port = ${port}
  }
  inet_listener imaps {
    port = ${securePort}
  }
}
service anvil {
  chroot =
}
`,
  )
  const child = spawnInTest(pathOf('dovecot')!, ['-F', '-c', at('dovecot.conf')])
  const ended = new Promise((resolve) => child.once('exit', resolve))
  const log = () => readFile(at('log'), 'utf8').catch(() => '')
  await eventually(async () => (await log()).includes('starting up') || child.exitCode !== null)
  if (child.exitCode !== null) throw new Error(`Dovecot ended:\n${await log()}`)
  let delivered = 0
  return {
    port,
    securePort,
    async deliver(user, message) {
      const inbox = at('mail', user)
      for (const place of ['', 'new', 'cur', 'tmp']) {
        await mkdir(join(inbox, place), { recursive: true })
        await chmod(join(inbox, place), 0o777)
      }
      const name = `${1_795_341_600 + delivered++}.test.here`
      await writeFile(join(inbox, 'new', name), message.replaceAll('\r\n', '\n'))
      await chmod(join(inbox, 'new', name), 0o666)
    },
    async tally(user) {
      const files = [...(await readdir(at('mail', user, 'new'))), ...(await readdir(at('mail', user, 'cur')))]
      const read = files.filter((name) => /:2,\w*S/.test(name)).length
      return { unread: files.length - read, read }
    },
    async close() {
      child.kill()
      await ended
      await rm(folder, { recursive: true, force: true })
    },
  }
}
