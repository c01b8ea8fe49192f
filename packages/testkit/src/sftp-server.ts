import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { makeKey, serveSsh } from './ssh-server.ts'

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
  /** The machine is set up anew: new connections are shown another key. */
  newHostKey(): Promise<void>
}

/** OpenSSH’s server with its own SFTP, on loopback, with a host key and a user key made for it. */
export async function startSftpServer(): Promise<SftpServer> {
  const above = await mkdtemp(join(tmpdir(), 'stackquay-sftp-'))
  const path = join(above, 'kept')
  await mkdir(path)
  const [user, stranger] = [join(above, 'user'), join(above, 'stranger')]
  for (const file of [user, stranger]) await makeKey(file, 'ed25519')
  let hostKeys = 1
  const server = await serveSsh(join(above, 'host'), user, `ed25519-${hostKeys}`)
  return {
    host: '127.0.0.1',
    port: server.port,
    user: userInfo().username,
    privateKey: readFileSync(user, 'utf8'),
    strangeKey: readFileSync(stranger, 'utf8'),
    path,
    newHostKey: () => server.showKey(`ed25519-${++hostKeys}`),
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]()
      await rm(above, { recursive: true, force: true })
    },
  }
}
