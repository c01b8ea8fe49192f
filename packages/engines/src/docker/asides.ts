import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Aside } from '@stackquay/engine-api'
import { throwIfAborted } from '../native/errors.ts'
import { safe } from '../native/home.ts'
import type { Daemon } from './daemon.ts'
import { noSuchData, refuseExisting, refuseWhileUsed, releaseVolume, removeVolumeNamed } from './data.ts'
import { orAbsent } from './errors.ts'
import { allAsides, currentVolume, removeMark, volumeName, writeMark } from './numbered-volumes.ts'

export async function asidesOf(daemon: Daemon, project: string): Promise<readonly Aside[]> {
  return (await allAsides(daemon, project)).map(({ name, key }) => ({ name, key }))
}

export async function setDataAside(daemon: Daemon, project: string, aside: Aside, signal: AbortSignal): Promise<void> {
  safe(aside.key)
  await refuseWhileUsed(daemon, project, aside.name, 'set aside')
  if ((await markOf(daemon, project, aside)) !== undefined) return
  const { volume, number, isThere } = await currentVolume(daemon, project, aside.name)
  if (!isThere) return
  await releaseVolume(daemon, project, aside.name, volume)
  throwIfAborted(signal)
  await mkdir(join(daemon.home.data, safe(project)), { recursive: true, mode: 0o711 })
  await writeMark(daemon, project, { ...aside, number })
}

export async function putDataBack(daemon: Daemon, project: string, aside: Aside, signal: AbortSignal): Promise<void> {
  const mark = await markOf(daemon, project, aside)
  if (mark === undefined) {
    if ((await currentVolume(daemon, project, aside.name)).isThere) return
    throw noSuchData(aside.name, 'put back')
  }
  await refuseExisting(daemon, project, aside.name)
  const volume = daemon.docker.getVolume(volumeName(daemon, project, aside.name, mark.number))
  if ((await orAbsent(volume.inspect())) === null) throw noSuchData(aside.name, 'put back')
  throwIfAborted(signal)
  await removeMark(daemon, project, aside)
}

export async function removeAside(daemon: Daemon, project: string, aside: Aside, signal: AbortSignal): Promise<void> {
  const mark = await markOf(daemon, project, aside)
  if (mark === undefined) return
  throwIfAborted(signal)
  await removeVolumeNamed(daemon, project, aside.name, volumeName(daemon, project, aside.name, mark.number))
  await removeMark(daemon, project, aside)
}

async function markOf(daemon: Daemon, project: string, { name, key }: Aside) {
  return (await allAsides(daemon, project)).find((mark) => mark.name === name && mark.key === key)
}
