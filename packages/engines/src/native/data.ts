import { randomBytes } from 'node:crypto'
import { mkdir, readdir, rename, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { EngineError } from '@stackquay/engine-api'
import { type Account, chownTo } from './account.ts'
import type { FilesError } from './as-user/files-error.ts'
import { removeGivenFolder, sizeAsUser } from './as-user/trees.ts'
import { diskUsage } from './disk-usage.ts'
import { orNull, throwIfAborted } from './errors.ts'
import { dataDir, isName, safe } from './home.ts'
import { locate } from './locate.ts'
import type { Machine } from './machine.ts'
import { readRecord, recordedWorkloads } from './record.ts'
import { exists } from './waiting.ts'

/*
 * Kept data lies in `data/<project>/<name>`. A name that begins with a dot is on its way in or out: never listed, never
 * mounted, and cleared away by the next start of the engine. One with an `@` was set aside: see `asides.ts`.
 */

export async function dataNames(machine: Machine, project: string): Promise<string[]> {
  return ((await orNull(readdir(join(machine.home.data, safe(project))))) ?? []).filter(isName).sort()
}

export async function listData(
  machine: Machine,
  project: string,
  signal: AbortSignal,
): Promise<{ name: string; sizeBytes: number }[]> {
  const names = await dataNames(machine, project)
  const found: { name: string; sizeBytes: number }[] = []
  for (const name of names)
    found.push({ name, sizeBytes: await sizeOf(machine, project, dataDir(machine.home, project, name), signal) })
  return found
}

function sizeOf(machine: Machine, project: string, path: string, signal: AbortSignal): Promise<number> {
  const account = machine.accounts.known(project) ?? null
  return account === null ? diskUsage(path, signal) : sizeAsUser(account, path, { signal }).then((size) => size ?? 0)
}

/** Takes the name away first, so that a crash leaves either all of it or nothing under it. */
export async function deleteData(machine: Machine, project: string, name: string, signal: AbortSignal): Promise<void> {
  const path = dataDir(machine.home, project, name)
  await refuseWhileUsed(machine, project, name, 'deleted')
  throwIfAborted(signal)
  const trash = join(machine.home.data, project, `.trash-${name}-${randomBytes(6).toString('hex')}`)
  await orNull(rename(path, trash))
  await removeGivenFolder(trash)
  await rmdir(join(machine.home.data, project)).catch(() => {})
}

/** The rest of an interrupted deletion or copy. Best effort: files that a program still writes to are left for the next time. */
export async function clearTrash(machine: Machine, project: string): Promise<void> {
  const directory = join(machine.home.data, safe(project))
  for (const name of (await orNull(readdir(directory))) ?? []) {
    if (name.startsWith('.')) await removeGivenFolder(join(directory, name)).catch(() => {})
  }
}

/** Fills a folder that is not listed, which gets its name when all is in it. */
export async function makeIncoming(
  machine: Machine,
  project: string,
  name: string,
  signal: AbortSignal,
  fill: (incoming: string, account: Account | null) => Promise<void>,
): Promise<void> {
  const target = dataDir(machine.home, project, name)
  const incoming = join(machine.home.data, safe(project), `.incoming-${name}-${randomBytes(6).toString('hex')}`)
  await mkdir(join(machine.home.data, safe(project)), { recursive: true, mode: 0o711 })
  try {
    const account = await machine.accounts.of(project)
    await makeOwned(incoming, account)
    await fill(incoming, account)
    throwIfAborted(signal)
    await rename(incoming, target)
  } catch (error) {
    await removeGivenFolder(incoming).catch(() => {})
    await rmdir(join(machine.home.data, safe(project))).catch(() => {})
    throw error
  }
}

export async function refuseExisting(machine: Machine, project: string, name: string): Promise<void> {
  if (!(await exists(dataDir(machine.home, project, name)))) return
  throw new EngineError('engine_cannot', `The project already has data named "${name}".`, {
    hint: 'Delete it first, or choose another name.',
  })
}

export function noSuchData(name: string, verb: string): EngineError {
  return new EngineError('engine_cannot', `There is no data named "${name}" that could be ${verb}.`, {
    hint: 'Start the project once, so that it makes its data.',
  })
}

async function makeOwned(path: string, account: Account | null): Promise<void> {
  await mkdir(path, { mode: 0o700 })
  if (account !== null) await chownTo(path, account)
}

export async function refuseWhileUsed(machine: Machine, project: string, name: string, verb: string): Promise<void> {
  for (const ref of await recordedWorkloads(machine.home, project)) {
    const record = await readRecord(machine.home, ref)
    if (record === null || !record.data.includes(name) || locate(machine, record) === null) continue
    throw new EngineError('engine_cannot', `The data "${name}" is in use by ${record.title} and cannot be ${verb}.`, {
      hint: `Stop ${record.title} first.`,
      retryable: true,
    })
  }
}

export function archiveFailed(name: string, verb: string, error: FilesError): EngineError {
  if (error.code === 'disk_full') {
    return new EngineError('disk_full', `The disk is full: the data "${name}" could not be ${verb}.`, {
      hint: 'Free some space, then try again.',
      retryable: true,
    })
  }
  return new EngineError('io_failed', `The data "${name}" could not be ${verb}: ${error.message}`, {
    hint: 'See the message, then try again.',
    retryable: error.code === 'changed',
  })
}
