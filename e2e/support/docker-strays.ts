import type { DockerService } from './docker-service.ts'

/** An object that the service made on its Docker. */
export interface DockerObject {
  readonly kind: 'container' | 'network' | 'volume'
  readonly name: string
  readonly project: string
  readonly role: string
  /** Of a container for a workload. */
  readonly workload: string | undefined
}

interface Inspected {
  readonly Name: string
  readonly Labels?: Readonly<Record<string, string>> | null
  readonly Config?: { readonly Labels: Readonly<Record<string, string>> }
}

/** All objects of the service, and those that nobody is named for: nothing else runs on this Docker. */
export async function dockerObjects({ lab }: DockerService): Promise<readonly DockerObject[]> {
  const lists = {
    container: ['ps', '--all', '--quiet', '--no-trunc'],
    network: ['network', 'ls', '--quiet', '--no-trunc', '--filter', 'type=custom'],
    volume: ['volume', 'ls', '--quiet'],
  } as const
  const found = await Promise.all(
    (['container', 'network', 'volume'] as const).map(async (kind) => {
      const ids = (await lab.docker(lists[kind])).split('\n').filter((id) => id !== '')
      if (ids.length === 0) return []
      const inspected = JSON.parse(await lab.docker([kind, 'inspect', ...ids])) as Inspected[]
      return inspected.map(({ Name, Labels, Config }): DockerObject => {
        const labels = Config?.Labels ?? Labels ?? {}
        return {
          kind,
          name: Name,
          project: labels['stackquay.project'] ?? '',
          role: labels['stackquay.role'] ?? '',
          workload: labels['stackquay.workload'],
        }
      })
    }),
  )
  return found.flat()
}

/** Objects that belong to no project and workload that the service knows, and second ones of what there is one of. */
export async function strayObjects(service: DockerService): Promise<readonly string[]> {
  const objects = await dockerObjects(service)
  const { items } = await service.client.call('listProjects', { query: { limit: 200 } })
  const workloads = new Map<string, readonly string[]>()
  for (const { id } of items) {
    const { status } = await service.client.call('getProject', { params: { id } })
    workloads.set(
      id,
      status.workloads.map(({ name }) => name),
    )
  }
  const seen = new Set<string>()
  return objects.flatMap(({ kind, name, project, role, workload }) => {
    const known = workloads.get(project)
    if (known === undefined) return [`${kind} ${name} of no project`]
    if (kind === 'volume') return []
    if (kind === 'container' && (role !== 'workload' || workload === undefined || !known.includes(workload)))
      return [`${kind} ${name} of no workload (${role})`]
    const key = `${kind} ${project} ${workload ?? ''}`
    if (seen.has(key)) return [`a second ${kind} ${name}`]
    seen.add(key)
    return []
  })
}

/** The container of each workload of a project: its id. */
export async function containersOf({ lab }: DockerService, project: string): Promise<Readonly<Record<string, string>>> {
  const filters = ['--filter', `label=stackquay.project=${project}`, '--filter', 'label=stackquay.role=workload']
  const format = '{{.Label "stackquay.workload"}} {{.ID}}'
  const lines = (await lab.docker(['ps', '--all', '--no-trunc', ...filters, '--format', format])).split('\n')
  return Object.fromEntries(lines.filter((line) => line !== '').map((line) => line.split(' ') as [string, string]))
}
