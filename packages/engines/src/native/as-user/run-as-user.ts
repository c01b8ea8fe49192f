import { spawn } from 'node:child_process'
import type { Socket } from 'node:net'
import type { Account } from '../account.ts'
import { FilesError } from './files-error.ts'
import { asUserArgv, systemPath } from './restricted.ts'

export interface RunAsUserOptions {
  readonly signal?: AbortSignal
  /** Bytes of its standard output that are kept; with more it is ended. */
  readonly maxOutput?: number
  readonly timeoutMs?: number
}

export interface Ran {
  readonly code: number | null
  readonly output: Buffer
  /** The beginning of what it complained of. */
  readonly errors: string
}

/**
 * Runs a short program of the system (`rm`, `du`, `test`) to its end as a project's user, with no more rights than that; null:
 * as the user of the service. Names are looked up in the system's own folders.
 */
export async function runAsUser(
  account: Account | null,
  argv: readonly [string, ...string[]],
  { signal, maxOutput = 64 << 10, timeoutMs = 60_000 }: RunAsUserOptions = {},
): Promise<Ran> {
  signal?.throwIfAborted()
  const child = await startAsUser(account, argv, ['ignore', 'pipe', 'pipe'])
  const { promise, resolve, reject } = Promise.withResolvers<Ran>()
  const parts: Buffer[] = []
  let size = 0
  let errors = ''
  let failure: unknown = null
  const end = (reason: unknown) => {
    failure ??= reason
    child.kill('SIGKILL')
    child.stdout?.destroy()
    child.stderr?.destroy()
  }
  const abort = () => end(signal?.reason)
  const timer = setTimeout(() => end(new FilesError('timeout')), timeoutMs)
  signal?.addEventListener('abort', abort, { once: true })
  child.stdout?.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size > maxOutput) end(new FilesError('too_large'))
    else parts.push(chunk)
  })
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    if (errors.length < mostErrors) errors += text.slice(0, mostErrors)
  })
  child.on('error', (error) => end(error))
  child.on('close', (code) => {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
    if (failure === null) resolve({ code, output: Buffer.concat(parts), errors: errors.trim() })
    else reject(failure)
  })
  return promise
}

const mostErrors = 4096

/** The caller ends it. */
export async function startAsUser(
  account: Account | null,
  argv: readonly [string, ...string[]],
  stdio: readonly ('ignore' | 'pipe' | number | Socket)[],
) {
  if (account !== null && !(account.uid > 0 && account.gid > 0))
    throw new FilesError('denied', 'The user of a project is never root.')
  const own = account === null || process.getuid?.() !== 0
  const front = own ? null : await asUserArgv(account.uid, account.gid)
  const [file = '', ...args] = [...(front ?? []), ...argv]
  return spawn(file, args, {
    cwd: '/',
    env: { PATH: systemPath, LC_ALL: 'C' },
    stdio: [...stdio],
    ...(own || front !== null ? {} : { uid: account.uid, gid: account.gid }),
  })
}
