import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { freePort } from './free-port.ts'
import { spawnTracked } from './processes.ts'

export interface SftpServer extends AsyncDisposable {
  readonly host: string
  readonly port: number
  /** The one that runs the test. */
  readonly user: string
  /** Opens a login. */
  readonly privateKey: string
  /** Opens none. */
  readonly strangeKey: string
  /** An empty folder to write in. */
  readonly path: string
  /** The machine is set up anew: it shows another key. Sessions must have ended: they keep the old one alive. */
  newHostKey(): Promise<void>
}

/** OpenSSH’s server with its own SFTP, on loopback, with a host key and a user key made for it. */
export async function startSftpServer(): Promise<SftpServer> {
  const above = await mkdtemp(join(tmpdir(), 'stackquay-sftp-'))
  const [path, host, user, stranger] = ['kept', 'host', 'user', 'stranger'].map((name) => join(above, name)) as [
    string,
    string,
    string,
    string,
  ]
  mkdirSync(path)
  const makeKey = (file: string) => execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', file])
  for (const file of [host, user, stranger]) makeKey(file)
  const port = await freePort()
  const config = join(above, 'sshd_config')
  writeFileSync(
    config,
    `ListenAddress 127.0.0.1
Port ${port}
HostKey ${host}
AuthorizedKeysFile ${user}.pub
PidFile none
StrictModes no
UsePAM no
PermitRootLogin prohibit-password
Subsystem sftp internal-sftp
`,
  )
  // Of a server that root starts.
  if (process.getuid?.() === 0) mkdirSync('/run/sshd', { recursive: true })
  const start = async () => {
    const started = spawnTracked(['/usr/sbin/sshd', '-D', '-e', '-f', config])
    await started.line(/Server listening/)
    return started
  }
  let server = await start()
  return {
    host: '127.0.0.1',
    port,
    user: userInfo().username,
    privateKey: readFileSync(user, 'utf8'),
    strangeKey: readFileSync(stranger, 'utf8'),
    path,
    newHostKey: async () => {
      await server.end()
      await rm(host)
      makeKey(host)
      server = await start()
    },
    [Symbol.asyncDispose]: async () => {
      await server.end()
      await rm(above, { recursive: true, force: true })
    },
  }
}
