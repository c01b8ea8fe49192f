import type Dockerode from 'dockerode'
import type { Daemon } from './daemon.ts'
import { isManaged, labelled, PROJECT, ROLE } from './labels.ts'

export async function listVolumes(daemon: Daemon, project?: string): Promise<Dockerode.VolumeInspectInfo[]> {
  const { Volumes } = await daemon.docker.listVolumes({
    filters: labelled(daemon, { [ROLE]: 'volume', [PROJECT]: project }),
  })
  return (Volumes ?? []).filter(({ Labels }) => isManaged(daemon, Labels))
}
