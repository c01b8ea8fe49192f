import { posix } from 'node:path'
import { type Container, EngineError, type PortBinding } from '@stackquay/engine-api'
import type { ContainerCreateOptions, HostConfig, MountSettings } from 'dockerode'
import type { Daemon } from './daemon.ts'
import { type Labels, objectName } from './labels.ts'

export interface ContainerProgram {
  /** Of the container. */
  readonly name: string
  readonly labels: Labels
  readonly argv: readonly string[]
  readonly cwd: string
  /** `NAME=value`, revealed. */
  readonly env: readonly string[]
  readonly container: Container
  /** By the name of kept data. */
  readonly volumes: ReadonlyMap<string, { readonly volume: string }>
  /** Where one of its folders is for Docker, which may see others than this process. By default at the same path. */
  readonly sourceOf?: (path: string) => string
  /** The id of one build of the image. By default the build that the image's name means. */
  readonly image?: string
  /** The `VOLUME`s that the image declares. */
  readonly imageVolumes: readonly string[]
  /** Its name in its network, and its host name. */
  readonly alias?: string
  readonly terminal: boolean
  readonly stdin: boolean
  readonly ports: readonly PortBinding[]
}

/** Processes and threads of one container, unless it is limited further. */
export const USUAL_PIDS = 2048

/**
 * Docker's usual capabilities without those that reach beyond a container's own files and processes. A program that is not
 * root has none of them in effect.
 */
const CAPABILITIES = ['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID', 'KILL', 'NET_BIND_SERVICE', 'SETGID', 'SETUID']

/**
 * What Docker keeps of the output itself, from which the service's logs are collected. Docker 20.10 skips a file for followers when the
 * program fills two while one is read: only large files leave time for a burst.
 */
const LOG_CONFIG = { Type: 'json-file', Config: { 'max-size': '128m', 'max-file': '2' } }

/** Everything that Docker learns about a container. There is no other way to make one, and no option to open it up. */
export function containerSpec(daemon: Daemon, program: ContainerProgram): ContainerCreateOptions {
  const { container, labels } = program
  const network = objectName(daemon, container.network, 'network')
  return {
    name: program.name,
    Image: program.image ?? container.image,
    Labels: { ...labels },
    User: container.user,
    Entrypoint: [...program.argv],
    Cmd: [],
    WorkingDir: program.cwd,
    Env: [...program.env],
    Tty: program.terminal,
    OpenStdin: program.stdin,
    StdinOnce: program.stdin,
    AttachStdin: program.stdin,
    AttachStdout: true,
    AttachStderr: true,
    Healthcheck: { Test: ['NONE'] },
    ...(program.alias === undefined ? {} : { Hostname: hostName(program.alias) }),
    ExposedPorts: Object.fromEntries(program.ports.map(({ port }) => [`${port}/tcp`, {}])),
    HostConfig: hostConfig(network, program),
    NetworkingConfig: {
      EndpointsConfig: { [network]: { Aliases: program.alias === undefined ? [] : [program.alias] } },
    },
  }
}

function hostConfig(network: string, program: ContainerProgram): HostConfig {
  const { container } = program
  const { cpus, memoryBytes, pids } = container.limits
  return {
    Init: true,
    Privileged: false,
    CapDrop: ['ALL'],
    CapAdd: CAPABILITIES,
    SecurityOpt: ['no-new-privileges'],
    RestartPolicy: { Name: 'no' },
    AutoRemove: false,
    NetworkMode: network,
    IpcMode: 'private',
    LogConfig: LOG_CONFIG,
    PidsLimit: pids ?? USUAL_PIDS,
    ...(cpus === null ? {} : { NanoCpus: Math.round(cpus * 1e9) }),
    // Swap counts too: a limit that is swapped around is none.
    ...(memoryBytes === null ? {} : { Memory: memoryBytes, MemorySwap: memoryBytes }),
    PortBindings: portBindings(program.ports),
    Mounts: mountsOf(container, program.volumes, program.sourceOf),
    Tmpfs: Object.fromEntries(scratchVolumes(program).map((path) => [path, 'mode=1777'])),
  }
}

export function mountsOf(
  container: Pick<Container, 'folders' | 'data'>,
  volumes: ContainerProgram['volumes'],
  sourceOf = (path: string) => path,
) {
  const folders = container.folders.map(
    ({ path, readOnly }): MountSettings => ({ Type: 'bind', Source: sourceOf(path), Target: path, ReadOnly: readOnly }),
  )
  const data = Object.entries(container.data).map(
    ([name, path]): MountSettings => ({ Type: 'volume', Source: volumes.get(name)?.volume ?? '', Target: path }),
  )
  return [...folders, ...data]
}

function portBindings(ports: readonly PortBinding[]): HostConfig['PortBindings'] {
  const bindings: Record<string, { HostIp: string; HostPort: string }[]> = {}
  for (const { port, hostPort, bind } of ports) {
    bindings[`${port}/tcp`] = [...(bindings[`${port}/tcp`] ?? []), { HostIp: bind, HostPort: String(hostPort) }]
  }
  return bindings
}

/** Volumes of the image that no mount covers: in memory, because Docker would keep each in a volume without an owner. */
function scratchVolumes({ container, imageVolumes }: ContainerProgram): string[] {
  const kept = Object.entries(container.data).map(([name, path]) => ({ name, path: posix.normalize(path) }))
  const mounted = new Set([...kept.map(({ path }) => path), ...container.folders.map(({ path }) => path)])
  const scratch = imageVolumes.map((path) => posix.resolve('/', path)).filter((path) => !mounted.has(path))
  for (const path of scratch) {
    const around = kept.find((data) => path.startsWith(`${data.path}/`))
    if (around !== undefined) throw hiddenVolume(container.image, path, around)
  }
  return scratch
}

/** A volume below kept data would hide a part of it, which then would be kept nowhere. */
function hiddenVolume(image: string, path: string, around: { name: string; path: string }): EngineError {
  return new EngineError(
    'engine_cannot',
    `The image ${image} declares ${path} a volume of its own, within the data "${around.name}" at ${around.path}.`,
    { hint: `Keep the data at ${path} instead.` },
  )
}

/** As RFC 1123 wants it. */
function hostName(alias: string): string {
  const name = alias.replaceAll('_', '-').replace(/^-+/, '').slice(0, 63).replace(/-+$/, '')
  return name === '' ? 'workload' : name
}
