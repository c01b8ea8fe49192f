import { access, constants } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Writable } from 'node:stream'
import { ProblemError } from '@stackquay/contract'
import type { NetworkEnvironment } from '@stackquay/engines'
import { programInPath } from '../users/system-user.ts'
import { diskFull, failureOf, lastLines } from './git-failure.ts'
import type { GitHome } from './git-home.ts'
import { asOptions, gitEnvironment, networkSettings } from './git-settings.ts'
import type { GitUrl } from './git-url.ts'
import {
  createSshLines,
  hostKeyChanged,
  knownHostName,
  rememberedKeys,
  type SshLines,
  sshCommand,
} from './host-keys.ts'
import { readLines, startGit } from './run-git.ts'

export interface NetworkOptions {
  readonly home: GitHome
  readonly network: NetworkEnvironment
  readonly url: GitUrl
  readonly cwd: string
  readonly signal: AbortSignal
  /** Whether time that is up means that the other side does not answer. */
  readonly mustAnswer?: boolean
  /** The socket of the agent that holds the one key to log in with, or `none`. Absent: the keys of the instance. */
  readonly agent?: string | undefined
  /** What it is for, after "git could not". */
  readonly what?: string
  /** A line for people: no credentials are in it. */
  readonly onLine?: (line: string) => void
}

export interface NetworkAnswer {
  readonly stdout: string
  /** What ssh found, when it was asked. */
  readonly ssh: SshLines
}

/**
 * Runs git against another machine, as git’s own user: the only place that knows credentials. They go through a pipe that
 * nobody else can open, never through arguments, environment or a file. Fails with git’s own words, without credentials.
 */
export async function gitOverNetwork(args: readonly string[], options: NetworkOptions): Promise<NetworkAnswer> {
  const { home, url, network, signal } = options
  const ssh = createSshLines()
  const known = url.protocol === 'ssh' ? await rememberedKeys(home.knownHosts, knownHostName(url), home.user) : []
  const sshEnvironment =
    url.protocol === 'ssh' ? { GIT_SSH_COMMAND: await sshFor(home, known.length > 0, options.agent) } : {}
  signal.throwIfAborted()
  const git = await startGit({
    args: [...asOptions(networkSettings), ...helperFor(url), ...args],
    cwd: options.cwd,
    account: home.user,
    env: {
      ...network.certificates,
      ...network.registries,
      ...gitEnvironment(),
      GIT_CEILING_DIRECTORIES: dirname(options.cwd),
      ...sshEnvironment,
    },
    stdio: ['ignore', 'pipe', 'pipe', ...(url.credentials === null ? [] : (['pipe'] as const))],
  })
  if (url.credentials !== null) handOver(url.credentials, git.child.stdio[3] as Writable)
  signal.addEventListener('abort', git.end, { once: true })
  if (signal.aborted) git.end()
  const stdout: string[] = []
  const words = lastLines()
  let size = 0
  git.child.stdout!.setEncoding('utf8').on('data', (text: string) => {
    size += text.length
    if (size > mostAnswer) git.end()
    else stdout.push(text)
  })
  readLines(git.child.stderr!, (line) => {
    const shown = masked(line, url.secrets)
    if (!ssh.forPeople(shown)) return
    words.add(shown)
    options.onLine?.(shown)
  })
  try {
    const code = await git.ended
    signal.throwIfAborted()
    if (code === 0) return { stdout: stdout.join(''), ssh }
  } catch (error) {
    if (options.mustAnswer === true && signal.aborted && isTimeout(signal.reason)) throw tooSlow(url)
    throw signal.aborted ? signal.reason : error
  } finally {
    signal.removeEventListener('abort', git.end)
  }
  if (ssh.wasRefused())
    throw hostKeyChanged({
      name: knownHostName(url),
      shown: ssh.shown(),
      remembered: known,
      file: home.knownHosts,
      user: home.user?.name ?? null,
    })
  if (words.have(diskFull)) throw failureOf(`git could not store ${url.url}`, words)
  throw failureOf(
    options.what === undefined ? `git could not read ${url.url}` : `git could not ${options.what}`,
    words,
    'Check the address, the branch and whether it needs credentials.',
  )
}

/**
 * Git asks it for the one server of the URL: a redirection to another gets nothing. `read` of a shell takes byte by byte, so
 * what it leaves is there for the next time that git asks.
 */
function helperFor({ credentials, origin }: GitUrl): readonly string[] {
  if (credentials === null) return []
  const helper =
    '!f() { test "$1" = get && IFS= read -r u <&3 && IFS= read -r p <&3 && printf "username=%s\\npassword=%s\\n" "$u" "$p"; }; f'
  return ['-c', `credential.${origin}.helper=${helper}`]
}

/** Git connects at most a few times in one call, and asks once for each. All of it fits into the pipe. */
function handOver({ username, password }: { username: string; password: string }, pipe: Writable): void {
  pipe.on('error', () => undefined)
  pipe.end(`${username}\n${password}\n`.repeat(4))
}

async function sshFor(home: GitHome, isKnown: boolean, agent: string | undefined): Promise<string> {
  if ((await programInPath('ssh')) === null)
    throw new ProblemError('unavailable_here', 'ssh is not installed on the service’s machine.', {
      hint: 'Install it: apt-get install -y openssh-client. Or use the repository’s https URL.',
    })
  const folder = join(home.folder, 'ssh')
  const candidates = ['id_ed25519', 'id_ecdsa', 'id_rsa'].map((name) => join(folder, name))
  const found = await Promise.all(
    candidates.map((file) =>
      access(file, constants.F_OK).then(
        () => [file],
        () => [],
      ),
    ),
  )
  // The user’s own servers are known as before, where the service is that user.
  const own = home.user === null ? [join(homedir(), '.ssh', 'known_hosts')] : []
  return sshCommand({ knownHosts: [home.knownHosts, ...own], identities: found.flat(), isKnown, agent })
}

function masked(line: string, secrets: readonly string[]): string {
  return secrets.reduce((shown, secret) => shown.replaceAll(secret, '…'), line)
}

/** More than that no server says of itself that has a repository. */
const mostAnswer = 32 << 20

const isTimeout = (reason: unknown) => reason instanceof DOMException && reason.name === 'TimeoutError'

function tooSlow(url: GitUrl): ProblemError {
  return new ProblemError('source_failed', `${url.url} did not answer within 20 seconds.`, {
    hint: 'Check the address and the network.',
  })
}
