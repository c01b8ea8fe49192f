import { join } from 'node:path'
import {
  type DetectedRuntime,
  type ProjectFacts,
  runtimeTypes,
  type Settings,
  SettingsError,
  type SourceFiles,
  suiteTypes,
} from '@stackquay/catalog'
import type { EngineName } from '@stackquay/contract'
import {
  type BackupPrograms,
  type ContainerFacts,
  envFiles,
  type ProjectCommands,
  type ProjectSpec,
  packageFolder,
  type Resolved,
  type ResolveFacts,
  resolveBackups,
  resolveCommands,
  resolveConnections,
  resolveProject,
  type SecretHandle,
} from '@stackquay/domain'
import type { Store } from '@stackquay/store'
import type { Catalogue } from '../catalogue/catalogue.ts'
import type { OurPrograms } from '../catalogue/our-programs.ts'
import type { Config } from '../config.ts'
import type { FilesOf, SourcePlace } from './files-of.ts'
import { createSourceMemory } from './source-memory.ts'
import { createReadings, readSource, type SourceRead } from './source-readings.ts'
import { workDone } from './work-done.ts'

/** A project as far as resolving needs it; a project that is only planned has no leases and secrets yet. */
export interface Resolvable extends SourcePlace {
  readonly slug: string
  readonly spec: ProjectSpec
  readonly engine: EngineName
}

export interface TestEnvironmentPlace {
  /** Takes the project's place in the workloads' refs. */
  readonly id: string
  /** Port for a workload's port, such as `('postgresql-main', 'postgresql')`. */
  lease(workload: string, port: string): number | null
  /** Handle of a secret by its name, such as `database/main/password`, of so many characters. */
  secret(name: string, length: number): SecretHandle | null
}

export interface Resolver {
  /** Reads what the runtimes want to know of the source, then resolves. */
  resolve(project: Resolvable): Promise<Resolved>
  /**
   * Reads once what several specifications of a project want to know of its source: what it is, and what it is to become. Answers
   * what each of them resolves to. Secrets named in `rotated` count as changed, for a look at what a rotation would do.
   */
  look(
    project: Resolvable,
    specs: readonly ProjectSpec[],
    source: 'now' | 'remembered',
  ): Promise<(spec: ProjectSpec, rotated?: readonly string[]) => Resolved>
  /**
   * Resolves what the model knows of a project from now on. What is read of the source for it is remembered.
   */
  resolveKnown(project: Resolvable, source: SourceRead): Promise<Resolved>
  /** So many who ask next for `handedOver` go on with what this request has just read: its operation, and the answer. */
  handOver(project: string, times: number): void
  /** What was remembered of a project that is gone. */
  forget(project: string): Promise<void>
  /** How the data of its workloads is backed up while they run. */
  backups(project: Resolvable): Promise<readonly BackupPrograms[]>
  /** What people can run in the project. Also reads the files that actions and suites are found in. */
  commands(project: Resolvable): Promise<ProjectCommands>
  /**
   * Databases and services of their own beside those of the project, for one test run:
   * - `resolved` has their workloads alone (no runtimes) under `place.id` as the project; its `errors` say what cannot run
   *   here, its `missingLeases` and `missingSecrets` what `place` answered null for (ask once with nulls to learn them).
   * - `commands` is what `commands(project)` answers with the variables of the test environment; folders, toolchains and installed
   *   dependencies (`path`, `toolsPath`, `setup`) are the project's own.
   * No variable of it leads to the project's own data: see `ResolveFacts.testEnvironment`. Secret variables of the person and of
   * service settings stay references to the project's secrets, whose text must go through `ledAway` before a program gets it;
   * those that `place.secret` answered are the caller's to reveal.
   */
  inTestEnvironment(
    project: Resolvable,
    place: TestEnvironmentPlace,
  ): Promise<{ resolved: Resolved; commands: ProjectCommands; ledAway(text: string): string }>
  /**
   * Databases and services of a project as those of another one, as durable as they are and with nothing published: for a look at a copy of
   * their data.
   */
  inDrill(
    project: Resolvable,
    place: TestEnvironmentPlace,
  ): Promise<{ resolved: Resolved; programs: readonly BackupPrograms[] }>
  /** What kinds may know of a project. */
  facts(project: Pick<Resolvable, 'id' | 'slug' | 'path'>): ProjectFacts
  /** What a source tree looks like it needs, surest first. */
  detect(place: SourcePlace): Promise<readonly { runtime: string; detected: DetectedRuntime }[]>
  url(slug: string, suffix?: string, prefix?: string): string
  host(slug: string, suffix?: string, prefix?: string): string
  /** Of any host name, with the proxy's port. */
  urlOf(host: string): string
  /** Shares are `<random>.<this>`. */
  readonly shareDomain: string
}

export function createResolver(options: {
  readonly config: Config
  readonly store: Pick<Store, 'ports' | 'secrets'>
  readonly catalogue: Catalogue
  readonly programs: OurPrograms
  readonly filesOf: FilesOf
  /** What its containers are made of; null for a project whose programs run on this machine. */
  containers(project: Pick<Resolvable, 'id' | 'engine'>): Promise<ContainerFacts | null>
}): Resolver {
  const { config, store, catalogue, programs, filesOf } = options
  const memory = createSourceMemory(config.home)
  const host = (slug: string, suffix = '', prefix = '') => `${prefix}${slug}${suffix}.${config.baseDomain}`
  const urlOf = (name: string) => {
    const port = config.proxy === null || config.proxy.port === 80 ? '' : `:${config.proxy.port}`
    return `http://${name}${port}`
  }
  const url = (slug: string, suffix = '', prefix = '') => urlOf(host(slug, suffix, prefix))

  const facts: Resolver['facts'] = ({ id, slug, path }) => ({
    id,
    slug,
    url: url(slug),
    path,
    toolsPath: join(config.home, 'tools', id),
  })

  const { readings, readNow, readForMoment, handOver } = createReadings(memory, filesOf)

  const factsFor = async (
    project: Resolvable,
    files: readonly string[],
    sourceOf: (project: Resolvable, files: readonly string[]) => Promise<SourceFiles> = readNow,
  ): Promise<ResolveFacts> => {
    workDone.resolved.publish(project.id)
    await catalogue.offers()
    const [source, leases, secrets] = await Promise.all([
      sourceOf(project, files),
      store.ports.of(project.id),
      store.secrets.of(project.id),
    ])
    return {
      project: facts(project),
      source,
      toolchain: catalogue.toolchain,
      helpers: catalogue.helpers,
      lease: (workload, port) =>
        leases.find((lease) => lease.workload === workload && lease.port === port)?.hostPort ?? null,
      secret: (name) => secrets[name] ?? null,
      publishAddress: config.publishAddress,
      ourProgram: (name) => ({ node: catalogue.ourNode(), file: broughtFile(programs, name) }),
      containers: await options.containers(project),
    }
  }

  return {
    host,
    url,
    urlOf,
    shareDomain: `share.${config.baseDomain}`,
    facts,
    resolve: async (project) => resolveProject(project.spec, await factsFor(project, workloadFiles(project.spec))),
    look: async (project, specs, source) => {
      const read = source === 'now' ? readForMoment : readings.remembered
      const found = await factsFor(project, specs.flatMap(workloadFiles), read)
      return (spec, rotated = []) => resolveProject(spec, withRotated(found, rotated))
    },
    forget: memory.forget,
    resolveKnown: async (project, source) =>
      resolveProject(project.spec, await factsFor(project, workloadFiles(project.spec), readings[source])),
    handOver,
    backups: async (project) => {
      const found = await factsFor(project, workloadFiles(project.spec))
      return resolveBackups(project.spec, found, resolveProject(project.spec, found))
    },
    commands: async (project) => resolveCommands(project.spec, await factsFor(project, commandFiles(project.spec))),
    inTestEnvironment: async (project, place) => {
      const own = await factsFor(project, commandFiles(project.spec))
      const beside: ResolveFacts = {
        ...own,
        project: { ...own.project, id: place.id },
        lease: place.lease,
        secret: place.secret,
        testEnvironment: { leaseOfProject: own.lease },
      }
      return {
        resolved: resolveProject({ ...project.spec, runtimes: {} }, beside),
        commands: resolveCommands(project.spec, beside),
        ledAway: resolveConnections(project.spec, beside).ledAway,
      }
    },
    inDrill: async (project, place) => {
      const own = await factsFor(project, [])
      const { id, lease, secret } = place
      const beside: ResolveFacts = {
        ...own,
        project: { ...own.project, id },
        lease,
        secret,
        publishAddress: '127.0.0.1',
      }
      const spec = { ...project.spec, runtimes: {} }
      const resolved = resolveProject(spec, beside)
      return { resolved, programs: resolveBackups(spec, beside, resolved) }
    },
    detect: async (place) => detectedIn(await readSource(await filesOf(place), place.path, detectionFiles())),
  }
}

function withRotated(facts: ResolveFacts, rotated: readonly string[]): ResolveFacts {
  if (rotated.length === 0) return facts
  return {
    ...facts,
    secret: (name, length) => {
      const handle = facts.secret(name, length)
      return handle !== null && rotated.includes(name) ? { ...handle, version: handle.version + 1 } : handle
    },
  }
}

function workloadFiles(spec: ProjectSpec): readonly string[] {
  return enabledRuntimes(spec).flatMap(({ kind, settings }) => kind.sourceFiles(settings))
}

function commandFiles(spec: ProjectSpec): readonly string[] {
  const runtimes = enabledRuntimes(spec)
  const folders = ['.', ...runtimes.map(({ settings }) => packageFolder(settings))]
  return [
    ...workloadFiles(spec),
    ...folders.flatMap((folder) => envFiles.map((file) => (folder === '.' ? file : `${folder}/${file}`))),
    ...runtimes.flatMap(({ kind, settings }) => kind.commandFiles(settings)),
    ...suiteTypes.flatMap((suite) => {
      if (suite.runtime === null) return suite.sourceFiles('.')
      const settings = runtimes.find(({ kind }) => kind.name === suite.runtime)?.settings
      return settings === undefined ? [] : suite.sourceFiles(packageFolder(settings))
    }),
  ]
}

function enabledRuntimes(spec: ProjectSpec) {
  return runtimeTypes.flatMap((kind) => {
    const settings = spec.runtimes[kind.name]
    return settings?.enabled === true ? [{ kind, settings }] : []
  })
}

/** A full disk or a missing package is a blocker for this one kind, never for the whole service. */
function broughtFile(programs: OurPrograms, name: string): string {
  try {
    return programs.file(name)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new SettingsError(
      'version',
      `Its program "${name}" could not be copied: ${why}`,
      'Mend that, then try again.',
    )
  }
}

/** What the runtimes want to see of a source that says nothing of itself. */
function detectionFiles(): readonly string[] {
  const wanted = runtimeTypes.flatMap((type) =>
    type.sourceFiles({ ...type.settings.defaults(), version: '', port: 1 } as Settings),
  )
  return [...new Set(wanted)]
}

function detectedIn(files: SourceFiles) {
  return runtimeTypes
    .flatMap((type) => {
      const detected = type.detect(files)
      return detected === null ? [] : [{ runtime: type.name, detected }]
    })
    .sort((a, b) => b.detected.confidence - a.detected.confidence)
}
