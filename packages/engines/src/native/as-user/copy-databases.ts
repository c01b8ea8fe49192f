import {
  chmodSync,
  closeSync,
  constants,
  type Dir,
  type Dirent,
  fstatSync,
  lstatSync,
  mkdirSync,
  opendirSync,
  openSync,
  readSync,
  rmSync,
  type Stats,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import { asFilesError, FilesError } from './files-error.ts'
import { giveUpRights } from './give-up-rights.ts'

/*
 * Copies the SQLite databases of a folder, as the project's user, so that they are consistent in an archive. Arguments: uid, gid
 * (`-`: stay the user of this process), and what to do as JSON. It answers one line of JSON, and keeps the copies until its input ends:
 * whoever asked for them may be killed.
 *
 * Paths are bytes, kept as latin1.
 */

export interface CopyDatabasesArgs {
  readonly root: string
  /** Names that are left out at any depth, and paths (`a/b`). */
  readonly without: readonly string[]
  /** The folder for copies; made when there is something to put there. */
  readonly place: string
}

/** Files in `place`, there when anything was left out. */
export const placeNames = { copies: 'copies', list: 'list', excluded: 'excluded' } as const

export interface CopiedDatabases {
  readonly copies: number
  readonly leftOut: number
  readonly warnings: readonly string[]
}

const magic = Buffer.from('SQLite format 3\0')
/** A page is a multiple of this, and a database is whole pages. */
const smallestPage = 512
const mostDepth = 400
const mostWarnings = 1000
const lockedMs = 20_000
const pagesAtOnce = 1000

export async function copyDatabases({ root, without, place }: CopyDatabasesArgs): Promise<CopiedDatabases> {
  const skipped = new Set(without.map((name) => Buffer.from(name).toString('latin1')))
  const copied: string[] = []
  const excluded: string[] = []
  const warnings: string[] = []
  const warn = (path: string, what: string): void => {
    if (warnings.length < mostWarnings) warnings.push(`${textOf(path)}: ${what}`)
  }
  for await (const { path, entry } of entriesBelow(root, skipped, warn)) {
    if (path.includes('\n')) continue
    if (!entry.isFile()) {
      if (entry.isSymbolicLink() || entry.isDirectory()) continue
      excluded.push(path)
      if (!entry.isSocket()) warn(path, 'a pipe or device; it was left out')
      continue
    }
    if (!isDatabase(root, path)) continue
    const failure = await copyDatabase(root, path, `${place}/${placeNames.copies}`)
    if (failure !== null) {
      warn(path, `SQLite could not copy it (${failure}); the file was taken as it is`)
      continue
    }
    copied.push(path)
    // What belongs to the file's content, not to the copy's: put back beside it, it would damage it.
    excluded.push(path, `${path}-wal`, `${path}-shm`, `${path}-journal`)
  }
  if (excluded.length > 0) {
    mkdirSync(place, { recursive: true })
    writeFileSync(`${place}/${placeNames.list}`, bytesOf(copied.map((path) => `${path}\0`).join('')))
    writeFileSync(`${place}/${placeNames.excluded}`, bytesOf(excluded.map((path) => `./${path}\n`).join('')))
  }
  return { copies: copied.length, leftOut: excluded.length, warnings }
}

/** Everything below, one folder open for each level: memory does not grow with how much there is. */
async function* entriesBelow(
  root: string,
  skipped: ReadonlySet<string>,
  warn: (path: string, what: string) => void,
): AsyncGenerator<{ readonly path: string; readonly entry: Dirent<Buffer> }> {
  const open = (path: string): { readonly path: string; readonly folder: Dir } | null => {
    try {
      return { path, folder: opendirSync(absolute(root, path), { encoding: 'buffer' as BufferEncoding }) }
    } catch (error) {
      // Whoever makes the archive complains of what cannot be read.
      if (path === '') throw error
      return null
    }
  }
  const first = open('')
  const levels = first === null ? [] : [first]
  try {
    for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
      const entry = level.folder.readSync() as Dirent<Buffer> | null
      if (entry === null) {
        levels.pop()?.folder.closeSync()
        await new Promise(setImmediate)
        continue
      }
      const name = entry.name.toString('latin1')
      const path = level.path === '' ? name : `${level.path}/${name}`
      if (skipped.has(name) || skipped.has(path)) continue
      if (entry.isDirectory() && levels.length >= mostDepth) warn(path, 'too deep to look for databases')
      const next = entry.isDirectory() && levels.length < mostDepth ? open(path) : null
      if (next !== null) levels.push(next)
      yield { path, entry }
    }
  } finally {
    for (const { folder } of levels) folder.closeSync()
  }
}

function isDatabase(root: string, path: string): boolean {
  try {
    const { size } = lstatSync(absolute(root, path))
    if (size < smallestPage || size % smallestPage !== 0) return false
    const file = openSync(absolute(root, path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      const start = Buffer.alloc(magic.length)
      return (
        fstatSync(file).isFile() && readSync(file, start, 0, start.length, 0) === start.length && start.equals(magic)
      )
    } finally {
      closeSync(file)
    }
  } catch {
    return false
  }
}

/**
 * Null when it was copied, else why not. What is copied is what the database was at one moment: a read transaction stays open around
 * it, without which SQLite begins again after each write of another process. Writers go on meanwhile where the database has
 * a write-ahead log; else they wait, about a second for 100 MB.
 */
async function copyDatabase(root: string, path: string, copies: string): Promise<string | null> {
  const target = absolute(copies, path)
  let source: DatabaseSync | null = null
  try {
    const info = lstatSync(absolute(root, path))
    mkdirSync(bytesOf(dirname(target.toString('latin1'))), { recursive: true, mode: 0o700 })
    source = new DatabaseSync(absolute(root, path), { timeout: lockedMs })
    source.exec('BEGIN')
    source.prepare('SELECT count(*) FROM sqlite_schema').get()
    await backup(source, target, { rate: pagesAtOnce })
    likeOriginal(target, info)
    return null
  } catch (error) {
    rmSync(target, { force: true })
    const { errcode, code, message } = error as NodeJS.ErrnoException & { readonly errcode?: number }
    if (errcode === sqliteFull || code === 'ENOSPC' || code === 'EDQUOT')
      throw new FilesError('disk_full', 'There is no room for copies of its databases.')
    return message
  } finally {
    source?.close()
  }
}

/** SQLITE_FULL. */
const sqliteFull = 13

function likeOriginal(path: Buffer, { mode, atime, mtime }: Stats): void {
  chmodSync(path, mode & 0o777)
  utimesSync(path, atime, mtime)
}

function absolute(root: string, path: string): Buffer {
  return Buffer.concat([Buffer.from(`${root}/`), bytesOf(path)])
}

function bytesOf(path: string): Buffer {
  return Buffer.from(path, 'latin1')
}

function textOf(path: string): string {
  return bytesOf(path).toString('utf8')
}

async function main([uid = '', gid = '', text = '']: readonly string[]): Promise<void> {
  if (uid !== '-') giveUpRights(Number(uid), Number(gid))
  process.umask(0o077)
  const args = JSON.parse(text) as CopyDatabasesArgs
  const leave = () => {
    rmSync(args.place, { recursive: true, force: true })
    process.exit(0)
  }
  for (const event of ['end', 'error', 'close'] as const) process.stdin.on(event, leave)
  process.stdin.resume()
  const answer = await copyDatabases(args).catch((error: unknown) => {
    const { code, message } = asFilesError(error)
    return { error: code, message }
  })
  process.stdout.write(`${JSON.stringify(answer)}\n`)
}

if (import.meta.main) await main(process.argv.slice(2))
