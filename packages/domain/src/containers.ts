import type { ChosenToolchain, Listen, ProjectFacts, Settings, TypeImage, WorkloadSpec } from '@stackquay/catalog'
import type { Container, FolderMount, Job, Limits } from '@stackquay/engine-api'
import type { ProjectSpec } from './spec.ts'

/** Facts about an engine of images. */
export interface ContainerFacts {
  /** `uid:gid` of the owner of the files of projects. */
  readonly user: string
  /** The image to take for one of the catalogue: from a mirror, or an equal one. */
  image(reference: string): string
  /** A built-in Dockerfile, and the name of its image on that base: another content has another name. */
  ours(name: string, base: string): { readonly folder: string; readonly tag: string }
  /** The build of an image that a person chose for a workload, or null. */
  pinned(workload: string, reference: string): string | null
  /** Folders of this machine with built-in programs, and with the Node that runs them. */
  readonly programs: readonly string[]
}

/** The program of a kind inside its image. */
export function toolchainIn(image: TypeImage, line: string): ChosenToolchain {
  const program = image.program(line)
  return { version: line, program, directory: program.slice(0, program.lastIndexOf('/')) || '/' }
}

/** What a runtime's workload listens on inside: the ports of the settings, which are always free there. */
export function listenInside(settings: Settings, workload: string, port: string): Listen {
  const beside = settings.devServer as { readonly port: number } | undefined
  const isBeside = workload.endsWith('-dev') && beside !== undefined
  return {
    address: '0.0.0.0',
    port: port === 'debug' ? settings.debugPort : isBeside ? beside.port : settings.port,
  }
}

/** The container of a database or a service: it sees its data, and built-in programs when it is one of them. */
export function dataContainer(
  image: TypeImage,
  line: string,
  { workload, spec, facts, needsPrograms }: ContainerRequest & { readonly needsPrograms: boolean },
  containers: ContainerFacts,
): Container {
  const inside = image.data?.(line)
  return {
    ...imageOf(image, line, workload, containers),
    user: image.user ?? containers.user,
    network: facts.project.id,
    folders: needsPrograms ? containers.programs.map(readOnly) : [],
    data: inside === undefined ? {} : { [workload]: inside },
    limits: limitsOf(spec, workload),
  }
}

/** The container of a runtime's programs: it sees the project's source and its tools. */
export function sourceContainer(
  image: TypeImage,
  line: string,
  { workload, spec, facts }: ContainerRequest,
  containers: ContainerFacts,
): Container {
  const { path, toolsPath, id } = facts.project
  return {
    ...imageOf(image, line, workload, containers),
    user: image.user ?? containers.user,
    network: id,
    folders: [
      ...[path, toolsPath].map((folder) => ({ path: folder, readOnly: false })),
      ...containers.programs.map(readOnly),
    ],
    data: {},
    limits: limitsOf(spec, workload),
  }
}

export interface ContainerRequest {
  /** Name of the workload, or of the runtime for its commands. */
  readonly workload: string
  readonly spec: Pick<ProjectSpec, 'limits'>
  readonly facts: { readonly project: ProjectFacts }
}

/** Puts a workload into a container, its jobs with it. */
export function inContainer(workload: WorkloadSpec, container: Container): WorkloadSpec {
  return { ...workload, run: { ...workload.run, container }, setup: jobsIn(workload.setup, container) }
}

export function jobsIn(jobs: readonly Job[], container: Container): readonly Job[] {
  return jobs.map((job) => ({ ...job, container }))
}

/** A home for tools that insist on one; a person's variable of that name wins. */
export function homeOf({ project }: { readonly project: ProjectFacts }): { readonly HOME: string } {
  return { HOME: project.toolsPath }
}

/** Each limit of the workload itself, else that of the one that it runs like, else that of the project. */
export function limitsOf({ limits }: Pick<ProjectSpec, 'limits'>, workload: string, like = workload): Limits {
  const ofWorkload = (name: string) => {
    const all = limits?.workloads ?? {}
    return Object.hasOwn(all, name) ? all[name] : undefined
  }
  const [own, its] = [ofWorkload(workload), ofWorkload(like)]
  return {
    cpus: own?.cpus ?? its?.cpus ?? limits?.cpus ?? null,
    memoryBytes: own?.memoryBytes ?? its?.memoryBytes ?? limits?.memoryBytes ?? null,
    pids: own?.pids ?? its?.pids ?? limits?.pids ?? null,
  }
}

/** The same for a program of this machine. Empty without limits, so that such a workload keeps its fingerprint. */
export function ownLimits(
  spec: Pick<ProjectSpec, 'limits'>,
  workload: string,
  like = workload,
): { readonly limits?: Limits } {
  const limits = limitsOf(spec, workload, like)
  return Object.values(limits).every((limit) => limit === null) ? {} : { limits }
}

/** Puts the limits of a workload onto its program and its jobs. */
export function withLimits(workload: WorkloadSpec, spec: Pick<ProjectSpec, 'limits'>): WorkloadSpec {
  const own = ownLimits(spec, workload.name)
  if (own.limits === undefined) return workload
  return { ...workload, run: { ...workload.run, ...own }, setup: workload.setup.map((job) => ({ ...job, ...own })) }
}

function imageOf(
  image: TypeImage,
  line: string,
  workload: string,
  containers: ContainerFacts,
): Pick<Container, 'image' | 'build'> {
  const base = containers.image(image.reference(line))
  const built = image.builtIn === undefined ? null : containers.ours(image.builtIn, base)
  const reference = built?.tag ?? base
  const pinned = containers.pinned(workload, reference)
  if (pinned !== null) return { image: pinned, build: null }
  return { image: reference, build: built === null ? null : { base, folder: built.folder } }
}

function readOnly(path: string): FolderMount {
  return { path, readOnly: true }
}
