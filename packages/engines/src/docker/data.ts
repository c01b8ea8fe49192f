import { mkdir, readdir, rm, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { EngineError } from '@stackquay/engine-api'
import type Dockerode from 'dockerode'
import { sizeAsUser } from '../native/as-user/index.ts'
import { orNull, throwIfAborted } from '../native/errors.ts'
import { type Home, isName, safe } from '../native/home.ts'
import { exists } from '../native/waiting.ts'
import { listVolumes } from './all-volumes.ts'
import { USUAL_PIDS } from './container-spec.ts'
import { discard, makeContainer } from './create-container.ts'
import type { Daemon } from './daemon.ts'
import { orAbsent, statusOf } from './errors.ts'
import { listContainers } from './find.ts'
import { DATA, DESCRIPTION, isManaged, type Labels, labelsOf, objectName, ROLE, WORKLOAD } from './labels.ts'
import { currentNames, currentVolume } from './numbered-volumes.ts'
import { parseDescription } from './record.ts'
import { createVolume } from './volumes.ts'
import { ask } from './wire/request.ts'
import { targetOf } from './wire/target.ts'

/*
 * Kept data is a volume. One that a copy is on its way into has a file `data/<project>/<name>` in our home: until that is
 * gone it counts as not there, and the next start of the engine clears both away.
 */

export async function dataNames(daemon: Daemon, project: string): Promise<string[]> {
  const incoming = new Set((await orNull(readdir(join(daemon.home.data, safe(project))))) ?? [])
  return (await currentNames(daemon, project)).filter((name) => !incoming.has(name)).sort()
}

export async function listData(
  daemon: Daemon,
  project: string,
  signal: AbortSignal,
): Promise<{ name: string; sizeBytes: number }[]> {
  const names = await dataNames(daemon, project)
  const paths = new Map((await listVolumes(daemon, project)).map(({ Name, Mountpoint }) => [Name, Mountpoint]))
  const volumes = new Map<string, string>()
  const sizes = new Map<string, number>()
  for (const name of names) {
    const { volume } = await currentVolume(daemon, project, name)
    volumes.set(volume, name)
    const path = paths.get(volume)
    // Docker's folder is root's alone, and on another machine when Docker is.
    if (!daemon.isLocal || path === undefined || !(await exists(join(path, '.')))) continue
    // Its project writes in it: du(1) enters no link.
    const bytes = await sizeAsUser(null, path, { signal })
    if (bytes !== null) sizes.set(name, bytes)
  }
  if (names.some((name) => !sizes.has(name))) await addSizesOfDocker(daemon, volumes, sizes, signal)
  return names.map((name) => ({ name, sizeBytes: sizes.get(name) ?? 0 }))
}

/** Docker looks at every file of every volume for this, managed or not. */
async function addSizesOfDocker(
  daemon: Daemon,
  volumes: ReadonlyMap<string, string>,
  sizes: Map<string, number>,
  signal: AbortSignal,
): Promise<void> {
  const used = await ask(await targetOf(daemon.docker), 'GET', '/system/df', { signal })
  const { Volumes } = used as { readonly Volumes: Dockerode.VolumeInspectInfo[] | null }
  for (const { Name, Labels, UsageData } of Volumes ?? []) {
    const name = volumes.get(Name)
    if (name === undefined || !isManaged(daemon, Labels)) continue
    if (!sizes.has(name)) sizes.set(name, Math.max(0, UsageData?.Size ?? 0))
  }
}

export async function deleteData(daemon: Daemon, project: string, name: string, signal: AbortSignal): Promise<void> {
  await refuseWhileUsed(daemon, project, name, 'deleted')
  throwIfAborted(signal)
  await removeVolume(daemon, project, name)
}

async function removeVolume(daemon: Daemon, project: string, name: string): Promise<void> {
  const { volume, isThere } = await currentVolume(daemon, project, name)
  if (isThere) await removeVolumeNamed(daemon, project, name, volume)
}

export async function removeVolumeNamed(
  daemon: Daemon,
  project: string,
  name: string,
  volumeName: string,
): Promise<void> {
  const volume = daemon.docker.getVolume(volumeName)
  const found = await orAbsent(volume.inspect())
  if (found === null || !isManaged(daemon, found.Labels)) return
  await releaseVolume(daemon, project, name, volumeName)
  await volume.remove().catch((error: unknown) => {
    if (statusOf(error) === 404) return
    if (statusOf(error) === 409) throw inUse(name, 'a container', 'deleted')
    throw error
  })
}

/** Stopped managed containers would keep it: they are made anew whenever they start, and what is known of them is written down. */
export async function releaseVolume(daemon: Daemon, project: string, name: string, volume: string): Promise<void> {
  for (const { Id, State, Labels } of await usersOf(daemon, project, volume)) {
    // A helper whose service was killed copies on into what nobody waits for.
    const isLeft = Labels[ROLE] === 'helper' && Labels[DATA] === name
    if (isLeft || (State !== 'running' && State !== 'paused')) await discard(daemon.docker.getContainer(Id))
  }
}

/** The rest of an interrupted copy. */
export async function clearIncoming(daemon: Daemon): Promise<void> {
  for (const project of (await readdir(daemon.home.data)).filter(isName)) {
    for (const name of ((await orNull(readdir(join(daemon.home.data, project)))) ?? []).filter(isName)) {
      await removeVolume(daemon, project, name)
      await forgetIncoming(daemon.home, project, name)
    }
  }
}

async function forgetIncoming(home: Home, project: string, name: string): Promise<void> {
  await rm(join(home.data, project, name), { force: true })
  await rmdir(join(home.data, project)).catch(() => {})
}

/** Fills a new volume, which counts as not there until all is in it. */
export async function withIncoming(
  daemon: Daemon,
  project: string,
  name: string,
  fill: () => Promise<void>,
  labels: Labels = {},
): Promise<void> {
  await mkdir(join(daemon.home.data, safe(project)), { recursive: true, mode: 0o711 })
  await writeFile(join(daemon.home.data, safe(project), safe(name)), '', { mode: 0o600 })
  try {
    await createVolume(daemon, project, name, (await currentVolume(daemon, project, name)).volume, labels)
    await fill()
  } catch (error) {
    await removeVolume(daemon, project, name).catch(() => {})
    await forgetIncoming(daemon.home, project, name)
    throw error
  }
  await forgetIncoming(daemon.home, project, name)
}

export async function refuseExisting(daemon: Daemon, project: string, name: string): Promise<void> {
  if (!(await currentVolume(daemon, project, name)).isThere) return
  throw new EngineError('engine_cannot', `The project already has data named "${name}".`, {
    hint: 'Delete it first, or choose another name.',
  })
}

export function noSuchData(name: string, verb: string): EngineError {
  return new EngineError('engine_cannot', `There is no data named "${name}" that could be ${verb}.`, {
    hint: 'Start the project once, so that it makes its data.',
  })
}

export const INSIDE = '/stackquay-copy'

/**
 * A container that only holds a volume, and never runs. Nothing of its image gets into the volume. `purpose` distinguishes those for one
 * volume: of a copy it is the target, because several copies of one source may be made at once.
 */
export async function holdingContainer(
  daemon: Daemon,
  project: string,
  data: string,
  purpose: string,
): Promise<Dockerode.Container> {
  const [image, { volume }] = await Promise.all([anyImage(daemon), currentVolume(daemon, project, data)])
  const name = objectName(daemon, project, 'copy', data, purpose)
  const left = await orAbsent(daemon.docker.getContainer(name).inspect())
  if (left !== null && isManaged(daemon, left.Config.Labels)) await discard(daemon.docker.getContainer(left.Id))
  return makeContainer(daemon, {
    name,
    Image: image,
    Labels: labelsOf(daemon, project, 'helper', { [DATA]: data }),
    Entrypoint: ['/never'],
    Cmd: [],
    HostConfig: {
      NetworkMode: 'none',
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      PidsLimit: USUAL_PIDS,
      Mounts: [
        {
          Type: 'volume',
          Source: volume,
          Target: INSIDE,
          VolumeOptions: { NoCopy: true, Labels: {}, DriverConfig: { Name: 'local', Options: {} } },
        },
      ],
    },
  })
}

/** A container cannot be without one; what is in it does not matter, but a volume that it declares would be made. */
async function anyImage(daemon: Daemon): Promise<string> {
  for (const { Id } of await daemon.docker.listImages()) {
    const image = await orAbsent(daemon.docker.getImage(Id).inspect())
    if (image !== null && Object.keys(image.Config?.Volumes ?? {}).length === 0) return Id
  }
  throw new EngineError('engine_cannot', 'Docker has no image with which data could be copied.', {
    hint: 'Start a project once, so that its images are there.',
  })
}

export function usersOf(daemon: Daemon, project: string, volume: string): Promise<Dockerode.ContainerInfo[]> {
  return listContainers(daemon, undefined, project).then((all) =>
    all.filter(({ Mounts }) => Mounts.some((mount) => mount.Type === 'volume' && mount.Name === volume)),
  )
}

export async function refuseWhileUsed(daemon: Daemon, project: string, name: string, verb: string): Promise<void> {
  const { volume } = await currentVolume(daemon, project, name)
  for (const { State, Labels } of await usersOf(daemon, project, volume)) {
    if (State !== 'running' && State !== 'paused' && State !== 'restarting') continue
    throw inUse(name, parseDescription(Labels[DESCRIPTION])?.title ?? Labels[WORKLOAD] ?? 'a command', verb)
  }
}

function inUse(name: string, title: string, verb: string): EngineError {
  return new EngineError('engine_cannot', `The data "${name}" is in use by ${title} and cannot be ${verb}.`, {
    hint: `Stop ${title} first.`,
    retryable: true,
  })
}
