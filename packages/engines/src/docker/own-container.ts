import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { EngineError } from '@stackquay/engine-api'
import type Dockerode from 'dockerode'
import type { ContainerInspectInfo } from 'dockerode'
import { orAbsent } from './errors.ts'

/** The container that this process runs in, where Docker knows it. */
export interface OwnContainer {
  readonly id: string
  /** Whether it has no network of its own: then all is reached from it as from the machine. */
  readonly isOnHostNetwork: boolean
  readonly mounts: readonly OwnMount[]
}

export interface OwnMount {
  /** On Docker's machine; empty for memory. */
  readonly source: string
  /** Inside. */
  readonly destination: string
}

/** Asks Docker once: a process stays where it is. A daemon that does not answer is asked again next time. */
export function createOwnContainer(docker: Dockerode, isLocal: boolean): () => Promise<OwnContainer | null> {
  let known: Promise<OwnContainer | null> | undefined
  return () => {
    known ??= find(docker, isLocal).catch((error: unknown) => {
      known = undefined
      throw error
    })
    return known
  }
}

/** Whether containers are reached from here by their own addresses alone, because ports are published elsewhere. */
export async function hasOwnNetwork({ own }: { own(): Promise<OwnContainer | null> }): Promise<boolean> {
  const container = await own()
  return container !== null && !container.isOnHostNetwork
}

async function find(docker: Dockerode, isLocal: boolean): Promise<OwnContainer | null> {
  if (!isLocal) return null
  const name = hostname()
  for (const id of containerIds({ mountinfo: read('/proc/self/mountinfo'), cgroup: read('/proc/self/cgroup'), name })) {
    const info = await orAbsent(docker.getContainer(id).inspect())
    if (info?.State.Running && info.Id.startsWith(id)) return ownOf(info)
  }
  return null
}

function ownOf({ Id, HostConfig, Mounts }: ContainerInspectInfo): OwnContainer {
  return {
    id: Id,
    isOnHostNetwork: HostConfig.NetworkMode === 'host',
    mounts: Mounts.map(({ Source, Destination }) => ({ source: Source ?? '', destination: Destination })),
  }
}

/**
 * Ids that this process' container could have, likely ones first. None is proven: another engine may have made the
 * container, so a caller learns from the daemon whether it is there.
 */
export function containerIds(seen: {
  readonly mountinfo: string
  readonly cgroup: string
  readonly name: string
}): string[] {
  const ids: string[] = []
  for (const line of seen.mountinfo.split('\n')) {
    const [, , , root = '', point = ''] = line.split(' ')
    // On the machine itself all containers are listed, at other places.
    if (!/^\/etc\/(hostname|hosts|resolv\.conf)$/.test(point)) continue
    ids.push(...(/\/containers\/([0-9a-f]{64})\//.exec(root)?.slice(1) ?? []))
  }
  for (const line of seen.cgroup.split('\n')) ids.push(...(/([0-9a-f]{64})(?:\.scope)?$/.exec(line)?.slice(1) ?? []))
  if (/^[0-9a-f]{12}$/.test(seen.name)) ids.push(seen.name)
  return [...new Set(ids)]
}

/** Where a path of this process is on Docker's machine, by the longest mount over it; null when it is there nowhere. */
export function hostPath(mounts: readonly OwnMount[], path: string): string | null {
  const over = mounts
    .filter(({ destination }) => destination === '/' || path === destination || path.startsWith(`${destination}/`))
    .sort((a, b) => b.destination.length - a.destination.length)[0]
  if (over === undefined || over.source === '') return null
  const rest = over.destination === '/' ? path : path.slice(over.destination.length)
  return `${over.source === '/' && rest !== '' ? '' : over.source}${rest}`
}

/** The same for one that must be there. */
export function mustBeOnHost({ mounts }: OwnContainer, path: string): string {
  const found = hostPath(mounts, path)
  if (found !== null) return found
  throw new EngineError(
    'engine_cannot',
    `Stackquay runs in a container, and no folder of the machine is mounted over ${path} there: Docker cannot give it to other containers.`,
    { hint: `Mount a folder of the machine at ${path}, or above it, into the container of Stackquay.` },
  )
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
