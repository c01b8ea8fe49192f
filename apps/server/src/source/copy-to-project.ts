import type { ChildProcess } from 'node:child_process'
import { type Duplex, pipeline } from 'node:stream'
import type { Account } from '@stackquay/engines'
import { failureOf, lastLines } from './git-failure.ts'
import { asOptions, copySettings, gitEnvironment } from './git-settings.ts'
import { readLines, startGit } from './run-git.ts'

export interface CopyOptions {
  readonly mirror: string
  /** Who owns the mirror. */
  readonly from: Account | null
  /** An empty folder of the project. */
  readonly folder: string
  /** Who owns the project. */
  readonly to: Account | null
  /** What the clone calls its origin. */
  readonly url: string
  readonly branch: string | null
  readonly signal: AbortSignal
  readonly onLine: (line: string) => void
}

/**
 * A clone of the mirror, as the project’s user, who cannot read the mirror: `git upload-pack` runs as the mirror’s owner, and
 * what the two say to each other passes here, as fast as the slower of them goes. The clone believes that it talks to
 * `url`, so its configuration and reflog are those of a plain clone.
 */
export async function copyToProject(options: CopyOptions): Promise<void> {
  const { mirror, from, folder, to, signal } = options
  const env = { ...gitEnvironment(), GIT_PROTOCOL: 'version=2' }
  const server = await startGit({
    args: [...asOptions(copySettings), 'upload-pack', '--strict', '--', mirror],
    cwd: mirror,
    account: from,
    env,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const client = await startGit({
    args: [...asOptions(copySettings), ...cloneArguments(options)],
    cwd: folder,
    account: to,
    env,
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
  }).catch((error: unknown) => {
    server.end()
    throw error
  })
  connect(server.child, client.child)

  const end = () => {
    client.end()
    server.end()
  }
  signal.addEventListener('abort', end, { once: true })
  if (signal.aborted) end()
  const words = lastLines()
  readLines(server.child.stderr!, words.add)
  readLines(client.child.stderr!, (line) => {
    // Of the mirror’s own steps nobody needs to know.
    if (/^(remote: |Cloning into |Receiving objects|Resolving deltas)/.test(line)) return
    words.add(line)
    options.onLine(line)
  })
  try {
    const code = await client.ended
    if (code !== 0) server.end()
    await server.ended
    signal.throwIfAborted()
    if (code !== 0) throw failureOf('git could not write the files of the project', words)
  } finally {
    signal.removeEventListener('abort', end)
    end()
  }
}

/** A program that ends early is known by its exit code and its words, not by a broken pipe. */
function connect({ stdin, stdout }: ChildProcess, client: ChildProcess): void {
  const socket = client.stdio[3] as Duplex
  pipeline(stdout!, socket, () => undefined)
  pipeline(socket, stdin!, () => undefined)
  // The shell in between holds the socket open until upload-pack ends, which waits for the next question.
  client.once('exit', () => stdin!.end())
}

/** `insteadOf` replaces the whole URL for the connection alone; every other word in the clone stays as it is. */
function cloneArguments({ url, branch }: CopyOptions): readonly string[] {
  return [
    '-c',
    `url.${internalUrl}.insteadOf=${url}`,
    'clone',
    '--progress',
    '--no-local',
    '--no-recurse-submodules',
    '--origin=origin',
    `--upload-pack=${joinDescriptors}`,
    ...(branch === null ? [] : [`--branch=${branch}`]),
    '--',
    url,
    '.',
  ]
}

const internalUrl = 'file:///mirror'

/** A shell gets it with the path after it. Descriptor 3 leads to upload-pack, both ways. */
const joinDescriptors = 'join() { cat <&3 3<&- & exec cat >&3 3<&-; }; join'
