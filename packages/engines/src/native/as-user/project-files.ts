import {
  type ActName,
  type Answer,
  acts,
  type ReadArgs,
  type ReadManyArgs,
  type ReadPartArgs,
  type StatManyArgs,
  type WalkArgs,
} from './acts.ts'
import { asFilesError, FilesError } from './files-error.ts'

/**
 * Files of a project, used with the rights of its user. Paths are relative to `root`, which is absolute and is never left: not by
 * `..`, not by a symbolic link, not by one that is put in the way meanwhile. Everything fails with `FilesError`, or with the
 * signal's reason.
 */
export interface ProjectFiles {
  /** The content of a regular file. */
  read(options: Limited & Omit<ReadArgs, 'links' | 'own'> & Partial<Pick<ReadArgs, 'links' | 'own'>>): Promise<Buffer>
  /**
   * A part of a regular file, for those that are larger than memory should hold: at most 4 MiB, less at its end. Links that stay below the
   * root are followed. `mark` is another one when the file was written to or replaced in between.
   */
  readPart(
    options: Limited & ReadPartArgs,
  ): Promise<{ readonly bytes: Buffer; readonly size: number; readonly mark: string }>
  /**
   * Of many files in one turn: the content, `true` for what is there without its content (too large, or no regular file), and
   * nothing for what is not there. Links that stay below the root are followed.
   */
  readMany(options: Limited & ReadManyArgs): Promise<ReadonlyMap<string, Buffer | true>>
  /** Mode, size and time of change of each; null for what is not there. Links are not followed. */
  statMany(options: Limited & StatManyArgs): Promise<readonly (FileMark | null)[]>
  /** All that is no folder, at any depth; paths byte for byte as `latin1`. Throws `too_many`. */
  walk(options: Limited & WalkArgs): Promise<readonly (FileMark & { readonly path: string })[]>
  /** What is in a folder, in no order. A name that is no text has replacement characters. Throws `too_many`. */
  list(
    options: Limited & { readonly root: string; readonly path: string; readonly maxEntries: number },
  ): Promise<readonly { readonly name: string; readonly kind: EntryKind }[]>
  /** Makes a file, or replaces it whole or not at all; with `exclusive` it must not be there. */
  write(
    options: Limited & {
      readonly root: string
      readonly path: string
      readonly bytes: Buffer
      readonly mode?: number
      readonly exclusive?: boolean
    },
  ): Promise<void>
  /** With every folder on the way; one that is there is a success. */
  makeFolder(options: Limited & { readonly root: string; readonly path: string; readonly mode?: number }): Promise<void>
  /** Renames a file or a folder, in one act. Throws `exists` where there is something already. Links are not followed. */
  move(options: Limited & { readonly root: string; readonly from: string; readonly to: string }): Promise<void>
  /** A folder anywhere: its path without links, and the first thing that the user may not do there. */
  folder(path: string, options?: Limited): Promise<{ readonly real: string; readonly lacks: Lack | null }>
  /** The first of these absolute paths that is a file which the user may execute. */
  firstProgram(paths: readonly string[], options?: Limited): Promise<string | null>
}

export interface Limited {
  readonly signal?: AbortSignal
  readonly timeoutMs?: number
}

export type EntryKind = 'file' | 'folder' | 'link' | 'other'
export type Lack = 'enter' | 'read' | 'write'

/** `<mode> <size> <nanoseconds of change>`: two that are equal mean a file that was not touched in between. */
export interface FileMark {
  readonly mark: string
}

/** Does one act: in this process, or in one that is the project's user. */
export type Perform = (
  act: ActName,
  args: unknown,
  how: {
    readonly bytes?: Buffer
    readonly maxBytes: number
    readonly signal: AbortSignal | undefined
    readonly timeoutMs: number
    /** False where doing it a second time is not the same as once. */
    readonly again: boolean
  },
) => Promise<Answer>

const usualMs = 10_000
const mostListing = 16 << 20

export function projectFiles(perform: Perform): ProjectFiles {
  const ask = <O extends Limited>(act: ActName, { signal, timeoutMs, ...args }: O, maxBytes = 0) =>
    perform(act, args, { maxBytes, signal, timeoutMs: timeoutMs ?? usualMs, again: true })

  return {
    read: async (options) => {
      const { bytes } = await ask('read', { links: 'none', own: false, ...options }, options.maxBytes)
      return bytes
    },
    readPart: async (options) => {
      const { value, bytes } = await ask('readPart', options, options.length)
      const { size, mark } = (value ?? {}) as { readonly size?: unknown; readonly mark?: unknown }
      if (typeof size !== 'number' || typeof mark !== 'string' || bytes.length > options.length)
        throw new FilesError('broken')
      return { bytes, size, mark }
    },
    readMany: async (options) => {
      if (options.paths.length === 0) return new Map()
      const { value, bytes } = await ask('readMany', options, options.maxBytes)
      return contentsOf(options, value, bytes)
    },
    statMany: async (options) => {
      if (options.paths.length === 0) return []
      const { bytes } = await ask('statMany', options, mostListing)
      const lines = linesOf(bytes)
      if (lines.length !== options.paths.length) throw new FilesError('broken')
      return lines.map((line) => (line === '-' ? null : { mark: markOf(line) }))
    },
    walk: async (options) => {
      const { bytes } = await ask('walk', options, mostListing)
      const lines = linesOf(bytes)
      if (lines.length > options.maxEntries) throw new FilesError('broken')
      return lines.map((line) => {
        const mark = markOf(line)
        return { mark, path: line.slice(mark.length + 1) }
      })
    },
    list: async (options) => {
      const { value } = await ask('list', options)
      if (!Array.isArray(value) || value.length > options.maxEntries) throw new FilesError('broken')
      return value.map(entryOf)
    },
    write: async ({ bytes, mode = 0o640, exclusive = false, signal, timeoutMs = usualMs, root, path }) => {
      const args = { root, path, mode, exclusive }
      await perform('write', args, { bytes, maxBytes: 0, signal, timeoutMs, again: !exclusive })
    },
    makeFolder: async ({ mode = 0o750, ...options }) => {
      await ask('makeFolder', { ...options, mode })
    },
    move: async ({ signal, timeoutMs = usualMs, ...args }) => {
      await perform('move', args, { maxBytes: 0, signal, timeoutMs, again: false })
    },
    folder: async (path, options = {}) => {
      const { value } = await ask('folder', { ...options, path })
      const answer = value as { readonly real?: unknown; readonly lacks?: unknown } | null
      const lacks = answer?.lacks ?? null
      if (typeof answer?.real !== 'string' || !answer.real.startsWith('/') || !isLack(lacks))
        throw new FilesError('broken')
      return { real: answer.real, lacks }
    },
    firstProgram: async (paths, options = {}) => {
      if (paths.length === 0) return null
      const { value } = await ask('firstProgram', { ...options, paths })
      if (value === -1) return null
      const path = typeof value === 'number' ? paths[value] : undefined
      if (path === undefined) throw new FilesError('broken')
      return path
    },
  }
}

/** In this process: its user is that of the projects, or no other user can write where it is used. */
export const performHere: Perform = async (act, args, { bytes = Buffer.alloc(0), signal, timeoutMs }) => {
  const late = AbortSignal.timeout(timeoutMs)
  const either = signal === undefined ? late : AbortSignal.any([signal, late])
  try {
    signal?.throwIfAborted()
    return await (acts[act] as (args: unknown, bytes: Buffer, signal: AbortSignal) => Promise<Answer>)(
      args,
      bytes,
      either,
    )
  } catch (error) {
    signal?.throwIfAborted()
    throw late.aborted ? new FilesError('timeout') : asFilesError(error)
  }
}

function contentsOf({ paths, maxBytesEach }: ReadManyArgs, value: unknown, bytes: Buffer): Map<string, Buffer | true> {
  if (!Array.isArray(value) || value.length !== paths.length) throw new FilesError('broken')
  const found = new Map<string, Buffer | true>()
  let at = 0
  for (const [index, path] of paths.entries()) {
    const size: unknown = value[index]
    if (size === false) continue
    if (size === true) found.set(path, true)
    else if (typeof size === 'number' && Number.isInteger(size) && size >= 0 && size <= maxBytesEach) {
      if (at + size > bytes.length) throw new FilesError('broken')
      found.set(path, bytes.subarray(at, at + size))
      at += size
    } else throw new FilesError('broken')
  }
  return found
}

function linesOf(bytes: Buffer): readonly string[] {
  const lines = bytes.toString('latin1').split('\0')
  if (lines.pop() !== '') throw new FilesError('broken')
  return lines
}

function markOf(line: string): string {
  const mark = /^\d+ \d+ -?\d+(?=$| )/.exec(line)?.[0]
  if (mark === undefined) throw new FilesError('broken')
  return mark
}

function entryOf(entry: unknown): { readonly name: string; readonly kind: EntryKind } {
  const [name, kind] = Array.isArray(entry) ? (entry as unknown[]) : []
  if (typeof name !== 'string' || name.includes('/') || !kinds.includes(kind as EntryKind))
    throw new FilesError('broken')
  return { name, kind: kind as EntryKind }
}

const kinds: readonly EntryKind[] = ['file', 'folder', 'link', 'other']

function isLack(value: unknown): value is Lack | null {
  return value === null || value === 'enter' || value === 'read' || value === 'write'
}
