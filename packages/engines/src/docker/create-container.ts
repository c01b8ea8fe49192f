import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Container,
  type DataMount,
  EngineError,
  type FolderMount,
  type PortBinding,
  type SecretRef,
  type Value,
} from '@stackquay/engine-api'
import type Dockerode from 'dockerode'
import { registriesFor, trustedFiles } from './certificates.ts'
import { containerSpec } from './container-spec.ts'
import type { Daemon } from './daemon.ts'
import { containerEnvironment, expandText } from './environment.ts'
import { messageOf, orAbsent, statusOf } from './errors.ts'
import { isManaged, type Labels, labelsOf, notManaged, type Role } from './labels.ts'
import { withNetwork } from './networks.ts'
import { mustBeOnHost } from './own-container.ts'
import { checkPlaced } from './program.ts'
import { ensureVolumes, ownVolumes } from './volumes.ts'

export interface NewContainer {
  readonly name: string
  readonly project: string
  readonly role: Role
  readonly labels: Labels
  readonly argv: readonly [string, ...string[]]
  readonly cwd: string
  readonly env: Readonly<Record<string, Value>>
  /** Kept data whose place an environment variable names. */
  readonly data: readonly DataMount[]
  /** Of its `data`, all is mounted. */
  readonly container: Container
  /** Id of the build to use; by default what the image's name stands for. */
  readonly image?: string
  readonly alias?: string
  readonly terminal: boolean
  readonly stdin: boolean
  readonly ports: readonly PortBinding[]
  reveal(ref: SecretRef): Promise<string>
}

/** Makes a container with all that it stands on, not yet started. Of one that could not be made nothing is left. */
export function createContainer(daemon: Daemon, wanted: NewContainer): Promise<Dockerode.Container> {
  return withNetwork(daemon, wanted.container.network, () => createInNetwork(daemon, wanted))
}

async function createInNetwork(daemon: Daemon, wanted: NewContainer): Promise<Dockerode.Container> {
  const { project } = wanted
  const [image, own, trusted, volumes] = await Promise.all([
    findImage(daemon, wanted.image ?? wanted.container.image),
    daemon.own(),
    trustedFiles(daemon),
    ensureVolumes(daemon, project, wanted.container),
  ])
  const container = withFiles(wanted.container, trusted.files)
  const given = {
    ...trusted.env,
    // A workload is what was installed; jobs install, and people may with what they run.
    ...(wanted.role === 'workload' ? {} : registriesFor(daemon.network, trusted.files)),
    ...wanted.env,
  }
  const env = await containerEnvironment(daemon, project, given, container, wanted.reveal, wanted.data)
  const argv = wanted.argv.map((text) => expandText(container, text))
  const cwd = expandText(container, wanted.cwd)
  const made = await create(daemon, {
    ...containerSpec(daemon, {
      name: wanted.name,
      labels: labelsOf(daemon, project, wanted.role, wanted.labels),
      argv,
      cwd,
      env,
      container,
      volumes,
      ...(own === null ? {} : { sourceOf: (path: string) => mustBeOnHost(own, path) }),
      image: image.Id,
      imageVolumes: Object.keys(image.Config?.Volumes ?? {}),
      ...(wanted.alias === undefined ? {} : { alias: wanted.alias }),
      terminal: wanted.terminal,
      stdin: wanted.stdin,
      ports: wanted.ports,
    }),
  })
  try {
    await ownVolumes(daemon, project, made, container, volumes)
    const all = [...(image.Config?.Env ?? []), ...env]
    await checkPlaced(made, { file: argv[0] ?? '', cwd, image: container.image, env: all })
    return made
  } catch (error) {
    await discard(made)
    throw error
  }
}

export async function findImage(daemon: Daemon, reference: string): Promise<Dockerode.ImageInspectInfo> {
  const image = await orAbsent(daemon.docker.getImage(reference).inspect())
  if (image !== null) return image
  throw new EngineError('image_not_found', `The image ${reference} is not there.`, {
    hint: 'Get it first, or check its name.',
  })
}

/** A file that is there already, also in a folder that is mounted whole, is not mounted again. */
function withFiles(container: Container, files: readonly FolderMount[]): Container {
  const isThere = ({ path }: FolderMount) =>
    container.folders.some((folder) => path === folder.path || path.startsWith(`${folder.path}/`))
  return { ...container, folders: [...container.folders, ...files.filter((file) => !isThere(file))] }
}

/** A managed one of that name was left behind by a crash. */
async function create(daemon: Daemon, spec: Dockerode.ContainerCreateOptions): Promise<Dockerode.Container> {
  const name = spec.name ?? ''
  try {
    return await makeContainer(daemon, spec)
  } catch (error) {
    if (statusOf(error) !== 409 || !/already in use/i.test(messageOf(error))) throw error
  }
  const there = await orAbsent(daemon.docker.getContainer(name).inspect())
  if (there !== null) {
    if (!isManaged(daemon, there.Config.Labels)) throw notManaged(`container named ${name}`)
    await discard(daemon.docker.getContainer(there.Id))
  }
  return makeContainer(daemon, spec)
}

/**
 * Removes a container, killing what runs in it. Its volumes stay. That another one removes it at the same time is a
 * success.
 */
export async function discard(container: Dockerode.Container): Promise<void> {
  await container.remove({ force: true, v: false }).catch((error: unknown) => {
    const isGoing = statusOf(error) === 409 && /in progress/i.test(messageOf(error))
    if (statusOf(error) !== 404 && !isGoing) throw error
  })
}

/**
 * Docker now and then fails to mount the layers of a container while others come and go (moby/moby#34672, #22937). Nothing of it is left then, and
 * asking again is enough.
 */
export async function makeContainer(
  daemon: Daemon,
  spec: Dockerode.ContainerCreateOptions,
): Promise<Dockerode.Container> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await daemon.docker.createContainer(spec)
    } catch (error) {
      if (attempt === mostAttempts || !/error creating overlay mount/.test(messageOf(error))) throw error
      await sleep(attempt * 100)
    }
  }
}

const mostAttempts = 4
