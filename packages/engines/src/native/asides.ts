import { open, readdir, rename, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Aside } from '@stackquay/engine-api'
import { removeGivenFolder } from './as-user/trees.ts'
import { noSuchData, refuseExisting, refuseWhileUsed } from './data.ts'
import { orNull, throwIfAborted } from './errors.ts'
import { dataDir, type Home, isName, safe } from './home.ts'
import type { Machine } from './machine.ts'
import { exists } from './waiting.ts'

/*
 * Data that was set aside lies beside the rest, in `data/<project>/<name>@<key>`: on the same file system, so that one rename is all. No name
 * of data has an `@`, so nothing lists, mounts or clears it.
 */

export async function asidesOf(home: Home, project: string): Promise<readonly Aside[]> {
  const names = (await orNull(readdir(join(home.data, safe(project))))) ?? []
  return names.flatMap((text) => {
    const [name = '', key = '', ...more] = text.split('@')
    return isName(name) && isName(key) && more.length === 0 ? [{ name, key }] : []
  })
}

export async function setDataAside(
  machine: Machine,
  project: string,
  aside: Aside,
  signal: AbortSignal,
): Promise<void> {
  const place = dataDir(machine.home, project, aside.name)
  const target = asideDir(machine.home, project, aside)
  await refuseWhileUsed(machine, project, aside.name, 'set aside')
  throwIfAborted(signal)
  // Data that came since has the name now, and stays.
  if ((await exists(target)) || !(await exists(place))) return
  await move(place, target)
}

export async function putDataBack(machine: Machine, project: string, aside: Aside, signal: AbortSignal): Promise<void> {
  const place = dataDir(machine.home, project, aside.name)
  const source = asideDir(machine.home, project, aside)
  throwIfAborted(signal)
  if (!(await exists(source))) {
    if (await exists(place)) return
    throw noSuchData(aside.name, 'put back')
  }
  await refuseExisting(machine, project, aside.name)
  await move(source, place)
}

export async function removeAside(machine: Machine, project: string, aside: Aside, signal: AbortSignal): Promise<void> {
  throwIfAborted(signal)
  await removeGivenFolder(asideDir(machine.home, project, aside), signal)
  await rmdir(join(machine.home.data, project)).catch(() => {})
}

function asideDir(home: Home, project: string, { name, key }: Aside): string {
  return join(home.data, safe(project), `${safe(name)}@${safe(key)}`)
}

/** On the disk when it ends: what is written down next says that it was done. */
async function move(from: string, to: string): Promise<void> {
  await rename(from, to)
  const folder = await open(join(to, '..'), 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
