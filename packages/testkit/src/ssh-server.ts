import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from './free-port.ts'
import { waitFor } from './wait-for.ts'

const execute = promisify(execFile)

export interface SshServer extends AsyncDisposable {
  readonly port: number
  /** Of a host key, as ssh-keygen prints it. */
  fingerprint(key: string): Promise<string>
  /** Ends it and starts it on the same port with another host key. */
  showKey(key: string): Promise<void>
}

/**
 * A real sshd with SFTP on loopback, for one login and one key of that person. Host keys are made in the folder by name: `<type>-<any>`.
 * As an ordinary user it serves that user alone.
 */
export async function serveSsh(folder: string, clientKey: string, hostKey: string): Promise<SshServer> {
  await mkdir(folder, { recursive: true })
  await chmod(folder, 0o755)
  const port = await freePort()
  await writeFile(join(folder, 'authorized'), await readFile(`${clientKey}.pub`), { mode: 0o644 })
  const start = async (key: string) => {
    const file = join(folder, key)
    await makeKey(file, key.slice(0, key.indexOf('-')))
    const settings = [
      `ListenAddress 127.0.0.1:${port}`,
      `HostKey ${file}`,
      `AuthorizedKeysFile ${join(folder, 'authorized')}`,
      `PidFile ${join(folder, 'pid')}`,
      'StrictModes no',
      'UsePAM no',
      'PasswordAuthentication no',
      `AllowUsers ${userInfo().username}`,
      'PermitRootLogin prohibit-password',
      'Subsystem sftp internal-sftp',
    ]
    await writeFile(join(folder, 'sshd_config'), `${settings.join('\n')}\n`)
    if (process.getuid?.() === 0) await mkdir('/run/sshd', { recursive: true, mode: 0o755 })
    const child = spawn('/usr/sbin/sshd', ['-D', '-f', join(folder, 'sshd_config')], { stdio: 'ignore' })
    await waitFor('sshd', () => answers(port))
    return child
  }
  let running = await start(hostKey)
  const end = async () => {
    const ended = once(running, 'exit')
    running.kill('SIGTERM')
    await ended
  }
  return {
    port,
    fingerprint: async (key) =>
      (await execute('ssh-keygen', ['-lf', join(folder, `${key}.pub`)])).stdout.split(' ')[1]!,
    showKey: async (key) => {
      await end()
      running = await start(key)
    },
    [Symbol.asyncDispose]: end,
  }
}

export async function makeKey(file: string, type: string): Promise<void> {
  await readFile(file).catch(() => execute('ssh-keygen', ['-q', '-t', type, '-N', '', '-C', 'test', '-f', file]))
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'data', { signal: AbortSignal.timeout(1000) })
    return true
  } finally {
    socket.destroy()
  }
}
