import type { DockerLab } from '@stackquay/testkit/docker-lab'
import type Dockerode from 'dockerode'

type Container = Dockerode.ContainerInspectInfo
type Kind = 'container' | 'network' | 'volume'

const lists: Readonly<Record<Kind, readonly string[]>> = {
  container: ['ps', '--all', '--format', '{{.Names}} {{.Labels}}'],
  network: ['network', 'ls', '--format', '{{.Name}} {{.Labels}}'],
  volume: ['volume', 'ls', '--format', '{{.Name}} {{.Labels}}'],
}

/** The containers of a project's workloads, running or not, as Docker describes them. */
export async function inspect(lab: DockerLab, project: string): Promise<readonly Container[]> {
  const labels = [`label=stackquay.project=${project}`, 'label=stackquay.role=workload']
  const found = await lab.docker(['ps', '--all', '--quiet', ...labels.flatMap((label) => ['--filter', label])])
  const ids = found.split('\n').filter((id) => id !== '')
  if (ids.length === 0) return []
  // One that went meanwhile is left out, and said to be missing elsewhere.
  const { stdout } = await lab.try(['container', 'inspect', ...ids])
  return JSON.parse(stdout) as Container[]
}

/** Objects whose name or labels hold a text: "container NAME", "network NAME" and "volume NAME", sorted. */
export async function objectsNaming(
  lab: DockerLab,
  text: string,
  kinds: readonly Kind[] = ['container', 'network', 'volume'],
): Promise<readonly string[]> {
  const found = await Promise.all(
    kinds.map(async (kind) => {
      const lines = (await lab.docker(lists[kind])).split('\n')
      return lines.filter((line) => line.includes(text)).map((line) => `${kind} ${line.split(' ')[0]}`)
    }),
  )
  return found.flat().sort()
}

/** What a container may do, in as far as it could harm anybody. */
export function allowances({ Name, HostConfig, NetworkSettings }: Container) {
  const published = Object.values(NetworkSettings.Ports ?? {}).flatMap((bindings) => bindings ?? [])
  return {
    name: Name.slice(1),
    privileged: HostConfig.Privileged,
    capabilities: [...(HostConfig.CapAdd ?? [])].map((name) => name.replace(/^CAP_/, '')).sort(),
    dropped: HostConfig.CapDrop,
    security: HostConfig.SecurityOpt,
    namespaces: {
      pid: HostConfig.PidMode,
      ipc: HostConfig.IpcMode,
      uts: HostConfig.UTSMode,
      network: HostConfig.NetworkMode,
    },
    devices: HostConfig.Devices ?? [],
    publishedOn: [...new Set(published.map(({ HostIp }) => HostIp))],
    restart: HostConfig.RestartPolicy?.Name,
    pids: HostConfig.PidsLimit,
  }
}
