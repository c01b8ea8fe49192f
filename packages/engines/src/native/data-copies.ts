import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { copyFile, mkdir, open, rename, rm, rmdir, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type CopyDataOptions,
  type CopyMethod,
  type DataCopied,
  type DataRef,
  EngineError,
} from '@stackquay/engine-api'
import { type Account, chownTo } from './account.ts'
import type { CopiedTree } from './as-user/copy-tree.ts'
import { FilesError } from './as-user/files-error.ts'
import { runAsUser } from './as-user/run-as-user.ts'
import { copyTreeAsUser } from './as-user/tree-copies.ts'
import { removeGivenFolder } from './as-user/trees.ts'
import { archiveFailed, noSuchData, refuseExisting, refuseWhileUsed } from './data.ts'
import { orNull, throwIfAborted } from './errors.ts'
import { dataDir, safe } from './home.ts'
import type { Machine } from './machine.ts'
import { exists } from './waiting.ts'

/*
 * Copies of kept data on this machine. The user whose data it is copies it, into a folder within one that the service alone may enter: so
 * nothing of anybody's changes there any more when it is given to the other user, and moved to its name.
 */

export async function copyData(
  machine: Machine,
  from: DataRef,
  to: DataRef,
  options: CopyDataOptions,
  signal: AbortSignal,
): Promise<DataCopied> {
  const source = dataDir(machine.home, from.project, from.name)
  const target = dataDir(machine.home, to.project, to.name)
  if (options.live === undefined) await refuseWhileUsed(machine, from.project, from.name, 'copied')
  await refuseWhileUsed(machine, to.project, to.name, 'replaced')
  await refuseExisting(machine, to.project, to.name)
  if (!(await exists(source))) throw noSuchData(from.name, 'copied')
  const [reader, writer] = [await machine.accounts.of(from.project), await machine.accounts.of(to.project)]
  const above = join(machine.home.data, safe(to.project))
  const closed = join(above, `.incoming-${to.name}-${randomBytes(6).toString('hex')}`)
  const content = join(closed, 'content')
  await mkdir(above, { recursive: true, mode: 0o711 })
  let isThere = false
  try {
    await mkdir(closed, { mode: 0o700 })
    await mkdir(content, { mode: 0o700 })
    if (reader !== null) await chownTo(content, reader)
    const copied = await fill(reader, source, content, options, signal)
    await give(content, reader, writer)
    throwIfAborted(signal)
    await writeOut(closed)
    throwIfAborted(signal)
    await rename(content, target)
    isThere = true
    await syncFolder(above)
    await rmdir(closed).catch(() => {})
    const isShared = copied.clonedBytes > 0 && copied.copiedBytes === 0
    return { method: isShared ? 'copy-on-write' : 'copy', bytes: copied.clonedBytes + copied.copiedBytes }
  } catch (error) {
    if (isThere) await rename(target, content).catch(() => {})
    await removeGivenFolder(closed).catch(() => {})
    await rmdir(above).catch(() => {})
    throwIfAborted(signal)
    throw error instanceof FilesError ? archiveFailed(from.name, 'copied', error) : error
  }
}

/** Tried where the copies come to lie. */
export async function copyMethod(machine: Machine, project: string): Promise<CopyMethod> {
  const above = join(machine.home.data, safe(project))
  const probe = join(above, `.probe-${randomBytes(6).toString('hex')}`)
  try {
    await writeFile(probe, 'x', { mode: 0o600, flag: 'wx' })
    await copyFile(probe, `${probe}-copy`, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE_FORCE)
    return 'copy-on-write'
  } catch {
    return 'copy'
  } finally {
    await Promise.all([rm(probe, { force: true }), rm(`${probe}-copy`, { force: true })])
  }
}

export async function freeBytes({ home }: Machine): Promise<number | null> {
  const found = await orNull(statfs(home.data))
  return found === null ? null : found.bavail * found.bsize
}

function fill(
  account: Account | null,
  source: string,
  target: string,
  { live, onBytes }: CopyDataOptions,
  signal: AbortSignal,
): Promise<CopiedTree> {
  const telling = { signal, ...(onBytes === undefined ? {} : { onBytes }) }
  if (live === undefined) return copyTreeAsUser(account, { source, target, leftOut: [], live: false }, telling)
  const args = { source, target, leftOut: [...live.leftOut, ...live.later], live: true }
  const later = async () => ({ only: live.later, files: await live.between() })
  return copyTreeAsUser(account, args, { ...telling, later })
}

/** Nobody but the service can enter the folder above, so what is in it is given without a look at it. Links are given, not followed. */
async function give(path: string, from: Account | null, to: Account | null): Promise<void> {
  if (to === null || (from !== null && from.uid === to.uid && from.gid === to.gid)) return
  const argv = ['chown', '-RhP', '--', `${to.uid}:${to.gid}`, path] as const
  const { code, errors } = await runAsUser(null, argv, { timeoutMs: 600_000 })
  if (code !== 0)
    throw new EngineError('io_failed', `The copy could not be given to uid ${to.uid}: ${errors.split('\n')[0] ?? ''}`, {
      hint: 'Look at the disk of the service, then try again.',
    })
}

/** One call for all of them, where the system has it: thousands of files would each wait for the disk. */
async function writeOut(path: string): Promise<void> {
  const argv = process.platform === 'linux' ? (['sync', '-f', path] as const) : (['sync'] as const)
  const { code, errors } = await runAsUser(null, argv, { timeoutMs: 3_600_000 })
  if (code !== 0)
    throw new EngineError('io_failed', `The copy could not be written to the disk: ${errors.split('\n')[0] ?? ''}`, {
      hint: 'Look at the disk of the service, then try again.',
    })
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, constants.O_RDONLY | constants.O_DIRECTORY)
  await folder.sync().finally(() => folder.close())
}
