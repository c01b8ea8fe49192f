import { once } from 'node:events'
import { constants, type Dirent } from 'node:fs'
import { copyFile, lchown, lstat, mkdir, readdir, readlink, rmdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Account } from '../account.ts'
import { FilesError } from './files-error.ts'
import { runAsUser, startAsUser } from './run-as-user.ts'
import { keepTop } from './tar.ts'

/*
 * Whole trees that belong to a project's user. The folder above one belongs to the service alone, so the tree's own name leads where the service put it;
 * what is inside is touched by programs that run as the owner and never by root.
 */

/**
 * Makes a folder in one of the service and gives it to the account; one that is there is given to it without what is inside. Throws
 * `not_a_folder` when there is something else.
 */
export async function makeGivenFolder(path: string, account: Account | null, mode = 0o750): Promise<void> {
  await mkdir(path, { mode }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  const info = await lstat(path)
  if (!info.isDirectory()) throw new FilesError('not_a_folder', `There is no folder in the place of ${path}.`)
  if (account !== null && (info.uid !== account.uid || info.gid !== account.gid))
    await lchown(path, account.uid, account.gid)
}

/**
 * Removes a folder in one of the service, as the user it was given to. Nothing there is a success. Throws `failed` when the user's programs
 * keep on filling it, or when it cannot be emptied.
 */
export async function removeGivenFolder(path: string, signal?: AbortSignal): Promise<void> {
  const found = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (found === null) return
  const owner = ownerOf(found)
  for (let turn = 0; turn < removeTurns; turn += 1) {
    await empty(path, owner, turn > 0, signal)
    const left = await rmdir(path).then(
      () => null,
      (error: NodeJS.ErrnoException) => error.code ?? 'UNKNOWN',
    )
    if (left === null || left === 'ENOENT') return
    if (left !== 'ENOTEMPTY' && left !== 'EEXIST')
      throw new FilesError('failed', `${path} could not be removed (${left}).`)
  }
  throw new FilesError('failed', `${path} could not be removed: a program may still be writing there.`)
}

const removeTurns = 4

/**
 * Bytes on disk; null when it cannot be counted. Folders that the user cannot read count for themselves alone; names in `without` count
 * nowhere where `du` can leave them out.
 */
export async function sizeAsUser(
  account: Account | null,
  path: string,
  {
    signal,
    timeoutMs = 30_000,
    without = [],
  }: { readonly signal?: AbortSignal; readonly timeoutMs?: number; readonly without?: readonly string[] } = {},
): Promise<number | null> {
  const options = { timeoutMs, ...(signal === undefined ? {} : { signal }) }
  const leftOut = process.platform === 'linux' ? without.map((name) => `--exclude=${name}`) : []
  const { output } = await runAsUser(account, ['du', '-skx', ...leftOut, '--', path], options).catch(
    (error: unknown) => {
      signal?.throwIfAborted()
      if (error instanceof FilesError) return { output: Buffer.alloc(0) }
      throw error
    },
  )
  const kilobytes = /^(\d{1,15})\t/.exec(output.toString('latin1'))?.[1]
  return kilobytes === undefined ? null : Number(kilobytes) * 1024
}

/**
 * Copies what is in a folder, read by one user and written by another into a folder that is there. Without a user it is read with
 * the service's rights: for folders that only we can write. Times and links are kept, owners are not.
 */
export async function copyBetween(
  from: { readonly account: Account | null; readonly path: string; readonly without?: readonly string[] },
  to: { readonly account: Account | null; readonly path: string },
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted()
  const without = (from.without ?? []).map((name) => `--exclude=${name}`)
  // The writer first: what a reader has written when it ends is thrown away where nothing takes it yet.
  const writer = await tar(
    to.account,
    ['-C', to.path, '--no-same-owner', ...keepTop, '-xSf', '-'],
    ['pipe', 'ignore', 'pipe'],
  )
  const reader = await tar(from.account, ['-C', from.path, ...without, '-cSf', '-', '.'], ['ignore', 'pipe', 'pipe'])
  reader.child.stdout?.pipe(writer.child.stdin!)
  const end = () => {
    reader.child.kill('SIGKILL')
    writer.child.kill('SIGKILL')
  }
  signal.addEventListener('abort', end, { once: true })
  if (signal.aborted) end()
  try {
    const [read, written] = await Promise.all([reader.ended, writer.ended])
    signal.throwIfAborted()
    for (const { code, words } of [written, read]) {
      if (code === 0 || (code === 1 && onlyChanged(words))) continue
      if (/No space left|quota exceeded/i.test(words)) throw new FilesError('disk_full')
      throw new FilesError('failed', `The files could not be copied: ${words.split('\n')[0] ?? ''}`)
    }
  } finally {
    signal.removeEventListener('abort', end)
    end()
  }
}

/**
 * Copies files of the service's own into a new folder of the service that nobody else can enter, and gives all of it to the account,
 * the folder last: no program of anybody's takes part, and nothing can be swapped meanwhile.
 */
export async function copyToGive(
  from: { readonly path: string; readonly without?: readonly string[] },
  to: { readonly account: Account | null; readonly path: string },
  signal: AbortSignal,
): Promise<void> {
  const give = async (path: string) => {
    if (to.account !== null) await lchown(path, to.account.uid, to.account.gid)
  }
  const copyFolder = async (source: string, target: string): Promise<void> => {
    const copyEntry = async (entry: Dirent) => {
      signal.throwIfAborted()
      const [path, copy] = [join(source, entry.name), join(target, entry.name)]
      if (entry.isDirectory()) {
        await mkdir(copy, 0o755)
        await copyFolder(path, copy)
      } else if (entry.isSymbolicLink()) await symlink(await readlink(path), copy)
      else await copyFile(path, copy, constants.COPYFILE_EXCL)
      await give(copy)
    }
    const entries = await readdir(source, { withFileTypes: true })
    const copied = entries.filter(({ name }) => from.without?.includes(name) !== true).map(copyEntry)
    // All have ended before it fails: what failed is removed then.
    await Promise.allSettled(copied)
    await Promise.all(copied)
  }
  try {
    await copyFolder(from.path, to.path)
    await give(to.path)
  } catch (error) {
    signal.throwIfAborted()
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOSPC' || code === 'EDQUOT') throw new FilesError('disk_full')
    throw new FilesError('failed', `The files could not be copied: ${message}`, { cause: error })
  }
}

/** The user that may have put something into it. A folder that was never given away holds files of the service alone. */
function ownerOf({ uid, gid }: { readonly uid: number; readonly gid: number }): Account | null {
  if (process.getuid?.() !== 0 || uid === 0) return null
  return { uid, gid: gid === 0 ? nogroup : gid }
}

const nogroup = 65_534

/** rm(1) never follows a link. Folders that their owner may not read are opened to him the second time. */
async function empty(path: string, owner: Account | null, opened: boolean, signal: AbortSignal | undefined) {
  const options = { timeoutMs: 120_000, ...(signal === undefined ? {} : { signal }) }
  if (opened) await runAsUser(owner, ['chmod', '-R', 'u+rwX', '--', path], options)
  await runAsUser(owner, ['rm', '-rf', '--', path], options)
}

/** Everything that it says is listened to from its first moment. */
async function tar(account: Account | null, args: readonly string[], stdio: readonly ('ignore' | 'pipe')[]) {
  const child = await startAsUser(account, ['tar', ...args], stdio)
  const words = firstWords(child.stderr)
  for (const stream of [child.stdin, child.stdout]) stream?.on('error', () => {})
  const ended = once(child, 'close').then(async ([code]) => ({ code: code as number | null, words: await words }))
  ended.catch(() => undefined)
  return { child, ended }
}

/** Running programs write on meanwhile: that is no failure. */
function onlyChanged(words: string): boolean {
  return words
    .split('\n')
    .every((line) => /changed as we read it|removed before we read it|shrank by|socket ignored/.test(line))
}

async function firstWords(stream: NodeJS.ReadableStream | null): Promise<string> {
  let text = ''
  for await (const chunk of stream ?? []) if (text.length < 4096) text += String(chunk)
  return text.trim()
}
