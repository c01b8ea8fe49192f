import { join } from 'node:path'
import { type DetectedRuntime, type ProjectFacts, runtimeTypes, type SourceFiles } from '@stackquay/catalog'
import type { EngineName } from '@stackquay/contract'
import {
  type ArchiveOfDatabase,
  type ArchivePrograms,
  type BackupPrograms,
  type DatabaseDump,
  type DatabaseUpgrade,
  type FoundPreset,
  type ProjectCommands,
  type ProjectSpec,
  presetFiles,
  programPresets,
  type Resolved,
  type ResolveFacts,
  resolveArchive,
  resolveBackups,
  resolveCommands,
  resolveConnections,
  resolveDump,
  resolveProject,
  resolveUpgrade,
  type SecretHandle,
} from '@stackquay/domain'
import type { Config } from '../config.ts'
import type { FilesOf, SourcePlace } from './files-of.ts'
import { type ProjectHosts, projectHosts } from './project-hosts.ts'
import { type ResolveFactsDeps, resolveFacts, withArchives, withRotated } from './resolve-facts.ts'
import { createSourceMemory } from './source-memory.ts'
import { createReadings, readSource, type SourceRead } from './source-readings.ts'
import { commandFiles, detectionFiles, workloadFiles } from './wanted-files.ts'

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

export interface Resolver extends ProjectHosts {
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
  /** The files of a new project were just copied from there, and nobody can have changed them: the next `handedOver` is what lies there. */
  handOverFrom(place: SourcePlace, project: Pick<Resolvable, 'id' | 'spec'>): Promise<void>
  /** What was remembered of a project that is gone. */
  forget(project: string): Promise<void>
  /** How the data of its workloads is backed up while they run. */
  backups(project: Resolvable): Promise<readonly BackupPrograms[]>
  /** How one of its databases is exported and imported; null where that cannot be here. */
  dump(project: Resolvable, database: string): Promise<DatabaseDump | null>
  /** How the data of one of its databases becomes that of another release line; null where that cannot be here. */
  upgrade(
    project: Resolvable,
    database: string,
    versions: { readonly from: string; readonly to: string },
  ): Promise<DatabaseUpgrade | null>
  /** What is done with an archive of one of its databases; null where that cannot be here. */
  archive(project: Resolvable, archive: ArchiveOfDatabase): Promise<ArchivePrograms | null>
  /** Workers and cron jobs that the source suggests. */
  presets(project: Resolvable): Promise<readonly FoundPreset[]>
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
}

export interface ResolverOptions extends ResolveFactsDeps {
  readonly config: Config
  readonly filesOf: FilesOf
  /** Whether a certificate serves a host. */
  readonly isSecure?: (host: string) => boolean
}

export function createResolver(options: ResolverOptions): Resolver {
  const { config, filesOf } = options
  const memory = createSourceMemory(config.home)
  const hosts = projectHosts(config, options.isSecure)
  const facts: Resolver['facts'] = ({ id, slug, path }) => ({
    id,
    slug,
    url: hosts.url(slug),
    path,
    toolsPath: join(config.home, 'tools', id),
  })

  const { readings, readNow, readForMoment, handOver, handOverFrom } = createReadings(memory, filesOf)
  const factsFor = (project: Resolvable, files: readonly string[], read = readNow) =>
    resolveFacts(project, facts(project), () => read(project, files), options)

  return {
    host: hosts.host,
    url: hosts.url,
    urlOf: hosts.urlOf,
    pageOf: hosts.pageOf,
    hasProxy: hosts.hasProxy,
    get shareDomain() {
      return hosts.shareDomain
    },
    facts,
    resolve: async (project) => resolveProject(project.spec, await factsFor(project, workloadFiles(project.spec))),
    look: async (project, specs, source) => {
      const read = source === 'now' ? readForMoment : readings.remembered
      const found = await factsFor(project, specs.flatMap(workloadFiles), read)
      return (spec, rotated = []) => resolveProject(spec, withArchives(withRotated(found, rotated)))
    },
    forget: memory.forget,
    resolveKnown: async (project, source) =>
      resolveProject(project.spec, await factsFor(project, workloadFiles(project.spec), readings[source])),
    handOver,
    handOverFrom: (place, { id, spec }) => handOverFrom(place, id, workloadFiles(spec)),
    backups: async (project) => backupsIn(project.spec, await factsFor(project, workloadFiles(project.spec))).programs,
    dump: async (project, database) => {
      const facts = await factsFor(project, workloadFiles(project.spec))
      return resolveDump(project.spec, facts, resolveProject(project.spec, facts), database)
    },
    upgrade: async (project, database, versions) =>
      resolveUpgrade(project.spec, await factsFor(project, workloadFiles(project.spec)), database, versions),
    archive: async (project, archive) =>
      resolveArchive(project.spec, await factsFor(project, workloadFiles(project.spec)), archive),
    commands: async (project) => resolveCommands(project.spec, await factsFor(project, commandFiles(project.spec))),
    presets: async (project) => programPresets(project.spec, await readNow(project, presetFiles(project.spec))),
    inTestEnvironment: async (project, place) =>
      besideIn(place, project.spec, await factsFor(project, commandFiles(project.spec))),
    inDrill: async (project, place) => {
      const own = await factsFor(project, [])
      const { id, lease, secret } = place
      const beside = { ...own, project: { ...own.project, id }, lease, secret, publishAddress: '127.0.0.1' as const }
      return backupsIn(withoutPrograms(withoutArchives(project.spec)), beside)
    },
    detect: async (place) => detectedIn(await readSource(await filesOf(place), place.path, detectionFiles())),
  }
}

/** A copy that is looked at keeps no changes. */
function withoutArchives(spec: ProjectSpec): ProjectSpec {
  const databases = Object.entries(spec.databases).map(
    ([name, { pointInTime: _off, ...rest }]) => [name, rest] as const,
  )
  return { ...spec, databases: Object.fromEntries(databases) }
}

/** Its databases and services alone. */
function withoutPrograms(spec: ProjectSpec): ProjectSpec {
  return { ...spec, runtimes: {}, workers: {} }
}

function backupsIn(spec: ProjectSpec, facts: ResolveFacts) {
  const resolved = resolveProject(spec, facts)
  return { resolved, programs: resolveBackups(spec, facts, resolved) }
}

/** The project as another one, in the place of a test run. */
function besideIn(place: TestEnvironmentPlace, spec: ProjectSpec, own: ResolveFacts) {
  const beside: ResolveFacts = {
    ...own,
    project: { ...own.project, id: place.id },
    lease: place.lease,
    secret: place.secret,
    testEnvironment: { leaseOfProject: own.lease },
  }
  return {
    resolved: resolveProject(withoutPrograms(spec), beside),
    commands: resolveCommands(spec, beside),
    ledAway: resolveConnections(spec, beside).ledAway,
  }
}

function detectedIn(files: SourceFiles) {
  return runtimeTypes
    .flatMap((type) => {
      const detected = type.detect(files)
      return detected === null ? [] : [{ runtime: type.name, detected }]
    })
    .sort((a, b) => b.detected.confidence - a.detected.confidence)
}
