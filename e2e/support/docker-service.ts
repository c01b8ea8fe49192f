import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { databaseTypeOf, runtimeTypeOf, serviceTypeOf, type TypeImage } from '@stackquay/catalog'
import {
  type DockerLab,
  type DockerLabOptions,
  dockerLab,
  type ImageName,
  images,
  type LabImage,
} from '@stackquay/testkit/docker-lab'
import { createContainerFacts } from '../../apps/server/src/catalogue/container-facts.ts'
import { type Service, type ServiceOptions, startService } from './service.ts'

/** A service whose projects run on a Docker Engine of its own. */
export interface DockerService extends Service {
  readonly lab: DockerLab
}

/**
 * Which release line of the catalogue the lab has an image for. The lab's Go is older than any that is offered; it stands in
 * for the newest.
 */
export const lines = {
  node: '26',
  python: '3.11',
  go: '1.27',
  ruby: '3.1',
  php: '8.2',
  postgresql: '15',
  mariadb: '10.11',
  redis: '7.0',
  memcached: '1.6',
  rabbitmq: '3.10',
} as const

const labImages: Readonly<Record<keyof typeof lines, ImageName>> = {
  node: 'node',
  python: 'python',
  go: 'golang',
  ruby: 'ruby',
  php: 'php',
  postgresql: 'postgres',
  mariadb: 'mariadb',
  redis: 'redis',
  memcached: 'memcached',
  rabbitmq: 'rabbitmq',
}

/** `kinds`: whose images must be there. */
export async function startDockerService(
  kinds: readonly (keyof typeof lines)[],
  options: ServiceOptions & { readonly lab?: DockerLabOptions } = {},
): Promise<DockerService> {
  // Storage, mail and static files are served by a program of ours, in the image of Node.
  const lab = await dockerLab({ ...options.lab, images: ['node', ...kinds.flatMap(imagesOf)] })
  try {
    const service = await startServiceOn(lab, options)
    return {
      ...service,
      lab,
      close: async () => {
        await service.close()
        await lab.close()
      },
    }
  } catch (error) {
    await lab.close()
    throw error
  }
}

/** A service on a Docker that others may use too. */
export function startServiceOn(lab: DockerLab, options: ServiceOptions = {}): Promise<Service> {
  return startService({
    ...options,
    env: { STACKQUAY_ENGINE: 'docker', DOCKER_HOST: lab.host, STACKQUAY_IMAGE_MAP: imageMap(), ...options.env },
  })
}

/** Those of ours are stored too: building one takes a minute. */
function imagesOf(name: keyof typeof lines): readonly LabImage[] {
  const base = labImages[name]
  const { builtIn } = imageOf(name)
  // The lab's PHP is Debian's, which has no extensions to build.
  if (builtIn === undefined || name === 'php') return [base]
  return [base, { ...oursOf(builtIn, images[base]), base }]
}

const oursOf = createContainerFacts({
  home: join(tmpdir(), 'stackquay-docker-images'),
  accounts: { known: () => null },
  imageOf: (reference) => reference,
  node: () => process.execPath,
})('prj_1', () => null).ours

function imageMap(): string {
  const pairs = Object.entries(lines).map(([name, line]) => {
    const image = imageOf(name)
    return `${image.reference(line)}=${images[labImages[name as keyof typeof lines]]}`
  })
  return [...new Set(pairs)].join(',')
}

function imageOf(name: string): TypeImage {
  const kind = runtimeTypeOf(name) ?? databaseTypeOf(name) ?? serviceTypeOf(name)
  if (kind === undefined) throw new Error(`The catalogue has no "${name}".`)
  return kind.image
}
