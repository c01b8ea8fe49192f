import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { ProblemError } from '@stackquay/contract'
import type { Account } from '@stackquay/engines'
import { diskFull, lastLines } from './git-failure.ts'
import { aloneSettings, asOptions, gitEnvironment } from './git-settings.ts'
import { readLines, startGit } from './run-git.ts'

/** A repository of a project, and who acts on it. */
export interface Repository {
  /** The folder of the project, with `.git` in it. */
  readonly path: string
  readonly account: Account | null
  /** Settings that take away what its configuration names, see `quietFilters`. */
  readonly settings: readonly string[]
}

export interface LocalOptions {
  readonly input?: Buffer | string
  readonly signal: AbortSignal
  /** Of its answer; what is more ends it. Default: 8 MiB. */
  readonly maxBytes?: number
  /** Whether an answer that is longer is cut instead of refused. */
  readonly cuts?: boolean
  readonly timeoutMs?: number
  readonly env?: Readonly<Record<string, string>>
  readonly onLine?: (line: string) => void
  /** It writes files of the project: it is not cut off by whoever waits for it, nor by the end of the service. */
  readonly writes?: boolean
}

export interface LocalAnswer {
  readonly code: number | null
  readonly stdout: Buffer
  readonly isCut: boolean
  /** What it said on the other channel. */
  readonly words: ReturnType<typeof lastLines>
}

/**
 * Runs git in the repository of a project: as the project’s user, without credentials or a network, and in a process that can
 * start no other. The repository is the folder `.git` of the project itself, whatever its configuration says.
 */
export async function localGit(
  repository: Repository,
  args: readonly string[],
  options: LocalOptions,
): Promise<LocalAnswer> {
  const { signal, input, maxBytes = 8 << 20, cuts = false, writes = false } = options
  const time = AbortSignal.timeout(options.timeoutMs ?? (writes ? 600_000 : 60_000))
  signal.throwIfAborted()
  const bounded = writes ? time : AbortSignal.any([signal, time])
  const git = await startGit({
    args: [...asOptions([...aloneSettings, ...repository.settings]), ...args],
    cwd: repository.path,
    account: repository.account,
    env: { ...localEnvironment(repository.path), ...options.env },
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    alone: true,
    outlives: writes,
  })
  if (input !== undefined) feed(git.child.stdin!, input)
  bounded.addEventListener('abort', git.end, { once: true })
  if (bounded.aborted) git.end()
  const chunks: Buffer[] = []
  let size = 0
  git.child.stdout!.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size <= maxBytes) chunks.push(chunk)
    else git.end()
  })
  const words = lastLines()
  readLines(git.child.stderr!, (line) => {
    words.add(line)
    options.onLine?.(line)
  })
  try {
    const code = await git.ended
    if (size > maxBytes && cuts) return { code: 0, stdout: Buffer.concat(chunks), isCut: true, words }
    if (size > maxBytes) throw refusedByGit(`The answer of git ${args[0]} is too long to be shown.`)
    if (bounded.aborted) throw signal.aborted && !writes ? signal.reason : tooSlow(args[0] ?? '')
    return { code, stdout: Buffer.concat(chunks), isCut: false, words }
  } finally {
    bounded.removeEventListener('abort', git.end)
  }
}

/** The same, of which only success is an answer. */
export async function localAnswer(
  repository: Repository,
  args: readonly string[],
  options: LocalOptions & { readonly what?: string },
): Promise<Buffer> {
  const { code, stdout, words } = await localGit(repository, args, options)
  if (code === 0) return stdout
  throw localFailure(options.what ?? `git ${args[0]} failed`, words)
}

/** Null for a failure, such as of a question after something that is not there. */
export async function localText(
  repository: Repository,
  args: readonly string[],
  options: LocalOptions,
): Promise<string | null> {
  const { code, stdout } = await localGit(repository, args, options)
  return code === 0 ? stdout.toString('utf8').replace(/\n$/, '') : null
}

export function localFailure(what: string, words: ReturnType<typeof lastLines>): ProblemError {
  if (words.have(diskFull))
    return new ProblemError('disk_full', `${what}: ${words.reason()}`, { hint: 'Free some space and try again.' })
  return refusedByGit(`${what}: ${words.reason() || 'it was ended'}`, words.tail())
}

function refusedByGit(detail: string, logTail: readonly string[] = []): ProblemError {
  return new ProblemError('git_refused', detail, {
    hint: 'See the words of git; a terminal of the project shows more.',
    ...(logTail.length === 0 ? {} : { extensions: { logTail } }),
  })
}

const tooSlow = (act: string) => refusedByGit(`git ${act} took too long and was ended.`)

/** Ends early with a program that does not read: its exit code tells why. */
export function feed(stdin: Writable, input: Buffer | string): void {
  stdin.on('error', () => undefined)
  stdin.end(input)
}

/** Every place is named: no `.git` file, `commondir` or `core.worktree` leads git elsewhere. */
export function localEnvironment(path: string): Readonly<Record<string, string>> {
  const folder = join(path, '.git')
  return {
    ...gitEnvironment(),
    GIT_DIR: folder,
    GIT_COMMON_DIR: folder,
    GIT_WORK_TREE: path,
    GIT_LITERAL_PATHSPECS: '1',
    GIT_ALLOW_PROTOCOL: 'none',
    GIT_PAGER: 'cat',
    GIT_EDITOR: 'false',
    GIT_MERGE_AUTOEDIT: 'no',
  }
}

/**
 * Takes the filters away that the configuration names, among them those of LFS: git would ask for them, and fail where the kernel
 * lets none start.
 */
export async function quietFilters(
  repository: Repository,
  signal: AbortSignal,
): Promise<{ readonly settings: readonly string[]; readonly filters: readonly string[] }> {
  const list = [
    'config',
    '--includes',
    '--name-only',
    '-z',
    '--get-regexp',
    '^filter\\..*\\.(clean|smudge|process|required)$',
  ]
  const names = (await localText(repository, list, { signal, maxBytes: 1 << 20, cuts: true, timeoutMs: 10_000 })) ?? ''
  const filters = new Set<string>()
  for (const name of names.split('\0')) {
    const filter = /^filter\.(.*)\.[a-z]+$/s.exec(name)?.[1]
    if (filter !== undefined && !/[=\n]/.test(filter) && filters.size < 50) filters.add(filter)
  }
  const settings = [...filters].flatMap((filter) => [
    `filter.${filter}.clean=`,
    `filter.${filter}.smudge=`,
    `filter.${filter}.process=`,
    `filter.${filter}.required=false`,
  ])
  return { settings, filters: [...filters] }
}
