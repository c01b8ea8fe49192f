import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { admin, type Service } from './service.ts'

/** Adds a public key as a person does, with a browser session. Answers its id. */
export async function addSshKey(
  service: Pick<Service, 'url'>,
  key: string,
  who: { readonly username: string; readonly password: string } = admin,
): Promise<string> {
  const session = await sessionOf(service, who)
  const publicKey = await readFile(`${key}.pub`, 'utf8')
  return ((await session('POST', '/auth/ssh-keys', { publicKey })) as { id: string }).id
}

export type Session = (method: string, path: string, body?: object) => Promise<unknown>

/** Calls of somebody who logged in with a password. */
export async function sessionOf(
  { url }: Pick<Service, 'url'>,
  { username, password }: { readonly username: string; readonly password: string } = admin,
): Promise<Session> {
  const ask = (method: string, path: string, headers: Record<string, string>, body?: object) =>
    fetch(`${url}/api/v1${path}`, {
      method,
      headers: {
        origin: url,
        ...(body === undefined
          ? {}
          : { 'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  const login = await ask('POST', '/auth/login', {}, { username, password })
  const cookie = login.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ')
  const { csrfToken } = (await login.json()) as { csrfToken: string }
  return async (method, path, body) => {
    const answer = await ask(method, path, { cookie, 'x-csrf-token': csrfToken }, body)
    const text = await answer.text()
    if (!answer.ok)
      throw Object.assign(new Error(`${method} ${path}: ${answer.status} ${text}`), {
        status: answer.status,
        problem: JSON.parse(text),
      })
    return text === '' ? null : JSON.parse(text)
  }
}

export interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** The programs of OpenSSH, with one key, against one port of the loopback. */
export interface SshClient {
  readonly options: readonly string[]
  /** Runs one of them to its end. */
  run(program: string, args: readonly string[], input?: string): Promise<Ended>
  /** `ssh` with options before the user name and a command after it. */
  ssh(user: string, command: string, options?: readonly string[], input?: string): Promise<Ended>
  sftp(user: string, lines: readonly string[]): Promise<Ended>
  start(program: string, args: readonly string[]): ChildProcess
}

export function sshClient(port: number, key: string, work: string): SshClient {
  const options = [
    ...['-F', 'none', '-i', key],
    ...[
      'IdentitiesOnly=yes',
      'IdentityAgent=none',
      'StrictHostKeyChecking=accept-new',
      `UserKnownHostsFile=${join(work, 'known_hosts')}`,
      'LogLevel=ERROR',
      'BatchMode=yes',
      `Port=${port}`,
    ].flatMap((option) => ['-o', option]),
  ]
  const start = (program: string, args: readonly string[]) =>
    spawn(program, args, { cwd: work, stdio: 'pipe', env: { ...process.env, LC_ALL: 'C.UTF-8' } })
  const run: SshClient['run'] = async (program, args, input = '') => {
    const child = start(program, args)
    const [out, err]: [Buffer[], Buffer[]] = [[], []]
    child.stdout!.on('data', (chunk: Buffer) => out.push(chunk))
    child.stderr!.on('data', (chunk: Buffer) => err.push(chunk))
    child.stdin!.on('error', () => {})
    child.stdin!.end(input)
    const late = setTimeout(() => child.kill(), longestMs)
    const [code] = (await once(child, 'close')) as [number | null]
    clearTimeout(late)
    return { code, out: Buffer.concat(out).toString('utf8'), err: Buffer.concat(err).toString('utf8') }
  }
  return {
    options,
    run,
    start,
    ssh: (user, command, more = [], input = '') =>
      run('ssh', [...options, ...more, `${user}@127.0.0.1`, command], input),
    sftp: (user, lines) => run('sftp', [...options, '-q', '-b', '-', `${user}@127.0.0.1`], `${lines.join('\n')}\n`),
  }
}

/** One that hangs fails its test, and not the whole run. */
const longestMs = 30_000
