import { once } from 'node:events'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { PipedBytes } from '@stackquay/engine-api'
import type { Account } from '../account.ts'
import { FilesError } from './files-error.ts'
import { startAsUser } from './run-as-user.ts'
import { type Complaint, complaintOf } from './tar-complaints.ts'

/*
 * tar(1) as a project's user. Only what GNU's has is given on Linux; elsewhere the programs differ.
 */

const isGnu = process.platform === 'linux'

/** In one archive format of two programs: long names and sparse files are understood by both, and by all public tools. */
const writing = [
  ...(isGnu
    ? ['--format=gnu', '--sort=name', '--quoting-style=escape', '--ignore-failed-read', '--blocking-factor=128']
    : ['--format=gnutar']),
  '--numeric-owner',
]

/** Names at any depth, paths from the top, then whole paths that `--exclude-from` lists. */
export function withoutNames(names: readonly string[]): readonly string[] {
  const plain = isGnu ? ['--no-anchored', '--no-wildcards'] : []
  const [paths = [], anywhere = []] = [names.filter(isPath), names.filter((name) => !isPath(name))]
  const excluded = (those: readonly string[]) => those.map((name) => `--exclude=${name}`)
  const fromTop = excluded(paths.map((path) => `./${path}`))
  return [...plain, ...excluded(anywhere), ...(isGnu ? ['--anchored'] : []), ...fromTop]
}

/** Of what is left out: the others are names. */
export function isPath(name: string): boolean {
  return name.includes('/')
}

/** The folder that is unpacked into keeps its own mode: no other user may read it, whatever the archive says. */
export const keepTop = isGnu ? ['--no-overwrite-dir'] : []

/** Nor is it touched at all: a folder that belongs to somebody else, who lets the user write there, could not be. */
const passOverTop = isGnu ? ['--no-recursion', '--anchored', '--no-wildcards', '--exclude=.'] : []

export interface PackOptions {
  readonly excluding?: readonly string[]
  readonly adding?: readonly string[]
  readonly signal: AbortSignal
  complain(complaint: Complaint): void
}

/**
 * The archive of a folder, at the speed of who reads it. Ends when it is whole; what went wrong throws instead, so that a part never looks like
 * all. `complain` is told of every line that is none of a failure.
 */
export function packTree(account: Account | null, path: string, options: PackOptions): PipedBytes {
  const { signal } = options
  return {
    async *[Symbol.asyncIterator]() {
      await using tar = await startPacking(account, path, options, 'pipe', signal)
      for await (const chunk of tar.stdout!) yield chunk as Buffer
      await tar.whole()
    },
    async into(pipe, stopped) {
      try {
        await using tar = await startPacking(account, path, options, pipe, AbortSignal.any([signal, stopped]))
        pipe.destroy()
        await tar.whole()
        return true
      } finally {
        pipe.destroy()
      }
    },
  }
}

async function startPacking(
  account: Account | null,
  path: string,
  { excluding = [], adding = [], complain }: PackOptions,
  to: 'pipe' | Socket,
  signal: AbortSignal,
) {
  const args = [...writing, ...excluding, '-C', path, '-cSf', '-', '.', ...adding]
  let failure: string | null = null
  const { child, ended } = await startTar(account, args, ['ignore', to, 'pipe'], (line) => {
    const complaint = complaintOf(line)
    if (complaint.what === 'failure') failure ??= complaint.text
    else complain(complaint)
  })
  const end = () => child.kill('SIGKILL')
  signal.addEventListener('abort', end, { once: true })
  if (signal.aborted) end()
  return {
    stdout: child.stdout,
    whole: async () => {
      const code = await ended
      signal.throwIfAborted()
      if (failure !== null || (code !== 0 && code !== 1))
        throw failed(failure ?? `tar ended (${code ?? 'killed'})`, 'read')
    },
    [Symbol.asyncDispose]: async () => {
      signal.removeEventListener('abort', end)
      end()
      child.stdout?.destroy()
      await ended.catch(() => undefined)
    },
  }
}

/**
 * Unpacks an archive, which was checked, into a folder that is there. GNU tar makes a symbolic link that leads up or away only at its end, and
 * replaces one that stands in the place of a folder: nothing is written through a link. It runs as the user, in any case.
 */
export async function unpackTree(
  account: Account | null,
  path: string,
  archive: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted()
  const args = ['-C', path, '--no-same-owner', '-p', ...keepTop, ...passOverTop, '-xSf', '-']
  const words: string[] = []
  const { child, ended } = await startTar(account, args, ['pipe', 'ignore', 'pipe'], (line) => {
    if (words.length < 20) words.push(line)
  })
  let source: { readonly error: unknown } | null = null
  const watched = async function* () {
    try {
      yield* archive
    } catch (error) {
      source = { error }
      throw error
    }
  }
  const end = () => child.kill('SIGKILL')
  signal.addEventListener('abort', end, { once: true })
  if (signal.aborted) end()
  try {
    // Not waited for: a source that gives nothing more would hold it up. The archive's end is passed on only after the source's own, so a
    // program that ended well has got all of it; one that ended before says why.
    const bytes = Readable.from(watched(), { objectMode: false, highWaterMark: 256 << 10 })
    pipeline(bytes, child.stdin!, { signal }).catch(() => {
      if (source !== null) end()
    })
    const code = await ended
    signal.throwIfAborted()
    if (source !== null) throw (source as { readonly error: unknown }).error
    if (code !== 0) throw failed(words.join('\n') || `tar ended (${code ?? 'killed'})`, 'written')
  } finally {
    signal.removeEventListener('abort', end)
    end()
  }
}

function failed(words: string, verb: string): FilesError {
  if (/No space left|quota exceeded/i.test(words)) return new FilesError('disk_full')
  if (/tar: (\S+: )?(Warning: )?Cannot open: (No such file|Not a directory)/.test(words))
    return new FilesError('missing')
  return new FilesError('failed', `The files could not be ${verb}: ${words.split('\n')[0] ?? ''}`)
}

/** Every line that it says is listened to from its first moment. */
async function startTar(
  account: Account | null,
  args: readonly string[],
  stdio: readonly ('ignore' | 'pipe' | Socket)[],
  say: (line: string) => void,
) {
  const child = await startAsUser(account, ['tar', ...args], stdio)
  let rest = ''
  child.stderr?.setEncoding('latin1').on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = (lines.pop() ?? '').slice(0, longestLine)
    for (const line of lines) say(line)
  })
  for (const stream of [child.stdin, child.stdout]) stream?.on('error', () => {})
  const ended = once(child, 'close').then(([code]) => {
    if (rest !== '') say(rest)
    return code as number | null
  })
  ended.catch(() => undefined)
  return { child, ended }
}

const longestLine = 64 << 10
