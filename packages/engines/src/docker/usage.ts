import type { EngineUsage } from '@stackquay/engine-api'
import { listVolumes } from './all-volumes.ts'
import type { Daemon } from './daemon.ts'
import { listContainers } from './find.ts'
import { isManaged, labelled } from './labels.ts'

/** Managed objects of Docker: the images that managed containers use, and those that were built here. */
export async function engineUsage(daemon: Daemon, signal: AbortSignal): Promise<readonly EngineUsage[]> {
  const [containers, images, networks, volumes] = await Promise.all([
    listContainers(daemon, undefined, undefined, signal),
    daemon.docker.listImages({ abortSignal: signal }),
    daemon.docker.listNetworks({ filters: labelled(daemon), abortSignal: signal }),
    listVolumes(daemon),
  ])
  const used = new Set(containers.map((container) => container.ImageID))
  const own = images.filter(({ Id, RepoTags }) => used.has(Id) || (RepoTags ?? []).some(isBuiltHere))
  return [
    { what: 'containers', count: containers.length, sizeBytes: null },
    { what: 'images', count: own.length, sizeBytes: own.reduce((sum, { Size }) => sum + Size, 0) },
    // They hold kept data, which `data` measures.
    { what: 'volumes', count: volumes.length, sizeBytes: null },
    { what: 'networks', count: networks.filter(({ Labels }) => isManaged(daemon, Labels)).length, sizeBytes: null },
  ]
}

const isBuiltHere = (tag: string) => tag.startsWith('stackquay/')
