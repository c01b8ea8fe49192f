import {
  type CopyDataOptions,
  type CopyMethod,
  type DataCopied,
  type DataRef,
  EngineError,
} from '@stackquay/engine-api'
import type Dockerode from 'dockerode'
import { throwIfAborted } from '../native/errors.ts'
import { listVolumes } from './all-volumes.ts'
import { chownInside, ownerInside } from './archive.ts'
import { USUAL_PIDS } from './container-spec.ts'
import { copyScript } from './copy-script.ts'
import { discard, makeContainer } from './create-container.ts'
import type { Daemon } from './daemon.ts'
import {
  dataNames,
  holdingContainer,
  INSIDE,
  noSuchData,
  refuseExisting,
  refuseWhileUsed,
  usersOf,
  withIncoming,
} from './data.ts'
import { orAbsent } from './errors.ts'
import { DATA, IMAGE, isManaged, labelsOf, objectName } from './labels.ts'
import { currentVolume } from './numbered-volumes.ts'
import { createFrameReader } from './wire/frames.ts'

/*
 * Copies of volumes: by `cp` in a helper container of an image that the data was used with, which holds both. Where there is none,
 * through Docker's archives between two containers that are never started. Owners, modes and links stay as they are.
 */

export async function copyData(
  daemon: Daemon,
  from: DataRef,
  to: DataRef,
  { live }: CopyDataOptions,
  signal: AbortSignal,
): Promise<DataCopied> {
  if (live === undefined) await refuseWhileUsed(daemon, from.project, from.name, 'copied')
  await refuseWhileUsed(daemon, to.project, to.name, 'replaced')
  await refuseExisting(daemon, to.project, to.name)
  if (!(await dataNames(daemon, from.project)).includes(from.name)) throw noSuchData(from.name, 'copied')
  const image = await imageOf(daemon, from)
  if (image === null && live !== undefined)
    throw new EngineError('engine_cannot', `Docker has no image with which "${from.name}" could be copied.`, {
      hint: 'Start the project, then try again.',
    })
  let copied: DataCopied = { method: 'copy', bytes: 0 }
  const labels = image === null ? {} : { [IMAGE]: image }
  await withIncoming(
    daemon,
    to.project,
    to.name,
    async () => {
      if (image === null) await copyArchive(daemon, from, to, signal)
      else copied = await copyInside(daemon, { image, from, to, live }, signal)
      throwIfAborted(signal)
    },
    labels,
  )
  return copied
}

/** Tried once with each image, in a volume that goes with its container: all volumes of Docker lie on one disk. */
export async function copyMethod(daemon: Daemon, project: string, signal: AbortSignal): Promise<CopyMethod> {
  for (const name of await dataNames(daemon, project)) {
    const image = await imageOf(daemon, { project, name })
    if (image === null) continue
    const known = tried.get(daemon) ?? new Map<string, Promise<CopyMethod>>()
    tried.set(daemon, known)
    const found = known.get(image) ?? probe(daemon, { project, name }, image)
    known.set(image, found)
    found.catch(() => known.delete(image))
    const method = await found
    throwIfAborted(signal)
    return method
  }
  return 'copy'
}

/** Asked of the disk that volumes lie on, from a volume: the service may see another disk, or none of Docker's. */
export async function freeBytes(daemon: Daemon, project: string, signal: AbortSignal): Promise<number | null> {
  for (const name of await dataNames(daemon, project)) {
    const image = await imageOf(daemon, { project, name })
    if (image === null) continue
    const placed = { image, from: { project, name }, to: { project, name }, purpose: 'room' }
    const said = await runInside(daemon, placed, ['room', '0'], signal).catch((error: unknown) => {
      throwIfAborted(signal)
      // An image without df.
      if (error instanceof EngineError && error.code === 'io_failed') return ''
      throw error
    })
    const kilobytes = /^(\d{1,15})$/.exec(said.trim())?.[1]
    return kilobytes === undefined ? null : Number(kilobytes) * 1024
  }
  return null
}

const tried = new WeakMap<Daemon, Map<string, Promise<CopyMethod>>>()
const probeMs = 60_000

async function probe(daemon: Daemon, at: DataRef, image: string): Promise<CopyMethod> {
  const placed = { image, from: at, to: at, purpose: 'probe' }
  const said = await runInside(daemon, placed, ['probe', '0'], AbortSignal.timeout(probeMs))
  return said.startsWith('copy-on-write') ? 'copy-on-write' : 'copy'
}

/** Of a container with the data, else the one that the data was copied by. */
async function imageOf(daemon: Daemon, { project, name }: DataRef): Promise<string | null> {
  const current = await currentVolume(daemon, project, name)
  const users = await usersOf(daemon, project, current.volume)
  const volume = (await listVolumes(daemon, project)).find(({ Name }) => Name === current.volume)
  for (const id of [...users.map(({ ImageID }) => ImageID), volume?.Labels[IMAGE]])
    if (id !== undefined && (await orAbsent(daemon.docker.getImage(id).inspect())) !== null) return id
  return null
}

interface Copying {
  readonly image: string
  readonly from: DataRef
  readonly to: DataRef
  readonly live: CopyDataOptions['live']
}

async function copyInside(daemon: Daemon, { live, ...where }: Copying, signal: AbortSignal): Promise<DataCopied> {
  const run = (...args: readonly string[]) => runInside(daemon, { ...where, purpose: 'run' }, args, signal)
  if (live === undefined) return copiedOf(await run('all', '0'))
  const first = copiedOf(await run('all', '1', ...live.leftOut, ...live.later))
  const files = Object.entries(await live.between()).flat()
  const { bytes, method } = copiedOf(await run('later', '1', ...live.later, '--', ...files))
  return { bytes, method: first.method === 'copy' ? 'copy' : method }
}

/** The last line: how, and how many KiB there are now. */
function copiedOf(said: string): DataCopied {
  const [, method, kilobytes] = /^(copy-on-write|copy) (\d+)$/.exec(said.trim().split('\n').at(-1) ?? '') ?? []
  if (method === undefined)
    throw new EngineError('io_failed', `The container that copies did not say what it did: ${said.slice(-500)}`, {
      hint: 'Try again.',
    })
  return { method: method as CopyMethod, bytes: Number(kilobytes) * 1024 }
}

interface Placed {
  readonly image: string
  readonly from: DataRef
  readonly to: DataRef
  readonly purpose: string
}

async function runInside(
  daemon: Daemon,
  placed: Placed,
  args: readonly string[],
  signal: AbortSignal,
): Promise<string> {
  const container = await createHelper(daemon, placed, args)
  // With the volume of a probe; named ones are never removed by this.
  const end = () => container.remove({ force: true, v: true }).catch(() => discard(container))
  const kill = () => void end().catch(() => {})
  signal.addEventListener('abort', kill, { once: true })
  try {
    throwIfAborted(signal)
    const ended = container.wait({ condition: 'next-exit' })
    ended.catch(() => {})
    await container.start()
    const { StatusCode } = (await ended) as { readonly StatusCode: number }
    throwIfAborted(signal)
    const words = await wordsOf(container)
    if (StatusCode === 0) return words
    if (/No space left|quota exceeded/i.test(words))
      throw new EngineError('disk_full', `The disk of Docker is full: "${placed.from.name}" could not be copied.`, {
        hint: 'Free some space, then try again.',
        retryable: true,
      })
    const reason = words.trim().split('\n').at(-1) ?? ''
    throw new EngineError(
      'io_failed',
      `The data "${placed.from.name}" could not be copied (${StatusCode}): ${reason}`,
      {
        hint: 'See the message, then try again.',
      },
    )
  } finally {
    signal.removeEventListener('abort', kill)
    await end()
  }
}

async function wordsOf(container: Dockerode.Container): Promise<string> {
  const bytes = await container.logs({ stdout: true, stderr: true, follow: false })
  return createFrameReader()(bytes)
    .map((chunk) => chunk.bytes.toString('utf8'))
    .join('')
}

async function createHelper(
  daemon: Daemon,
  { image, from, to, purpose }: Placed,
  args: readonly string[],
): Promise<Dockerode.Container> {
  const name = objectName(daemon, to.project, 'copy', to.name, purpose)
  const left = await orAbsent(daemon.docker.getContainer(name).inspect())
  if (left !== null && isManaged(daemon, left.Config.Labels)) await discard(daemon.docker.getContainer(left.Id))
  const mount = async ({ project, name: data }: DataRef, target: string, readOnly: boolean) => ({
    Type: 'volume' as const,
    Source: (await currentVolume(daemon, project, data)).volume,
    Target: target,
    ReadOnly: readOnly,
    VolumeOptions: { NoCopy: true, Labels: {}, DriverConfig: { Name: 'local', Options: {} } },
  })
  const isProbe = from.project === to.project && from.name === to.name
  const mounts = isProbe
    ? [{ Type: 'volume' as const, Source: '', Target: INSIDE }]
    : await Promise.all([mount(from, '/stackquay-from', true), mount(to, INSIDE, false)])
  return makeContainer(daemon, {
    name,
    Image: image,
    Labels: labelsOf(daemon, to.project, 'helper', { [DATA]: to.name }),
    User: '0:0',
    Entrypoint: ['/bin/sh', '-c', copyScript, 'copy', ...args],
    Cmd: [],
    Env: ['LC_ALL=C'],
    WorkingDir: '/',
    Healthcheck: { Test: ['NONE'] },
    HostConfig: {
      Init: true,
      NetworkMode: 'none',
      ReadonlyRootfs: true,
      CapDrop: ['ALL'],
      // What it copies belongs to others, and stays theirs.
      CapAdd: ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID'],
      SecurityOpt: ['no-new-privileges'],
      PidsLimit: USUAL_PIDS,
      LogConfig: { Type: 'json-file', Config: { 'max-size': '1m' } },
      Mounts: mounts,
    },
  })
}

async function copyArchive(daemon: Daemon, from: DataRef, to: DataRef, signal: AbortSignal): Promise<void> {
  const [source, target] = await Promise.all([
    holdingContainer(daemon, from.project, from.name, `${to.name}-from`),
    holdingContainer(daemon, to.project, to.name, `${to.name}-to`),
  ])
  try {
    throwIfAborted(signal)
    const owner = await ownerInside(source, INSIDE)
    const archive = await source.getArchive({ path: `${INSIDE}/.`, abortSignal: signal })
    await target.putArchive(archive, { path: INSIDE, abortSignal: signal })
    // Docker passes over the directory that an archive is unpacked into.
    if (owner !== null) await chownInside(target, INSIDE, owner)
  } finally {
    await Promise.all([discard(source), discard(target)])
  }
}
