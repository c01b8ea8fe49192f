import type { Job, PortBinding, ToolchainQuery, Value, Workload } from '@stackquay/engine-api'
import type { z } from 'zod'
import type { BackupMethod } from './backup-method.ts'
import type { DatabaseConnection, ServiceConnection } from './connection.ts'
import type { DumpMethod } from './dump-method.ts'
import type { HealthCheckInput } from './health-check-input.ts'
import type { PointInTimeMethod } from './point-in-time-method.ts'
import type { ProgramPresets } from './program-preset.ts'
import type { UpgradeMethod } from './upgrade-method.ts'

/**
 * A runtime, a service or a database is one folder that exports one of these descriptors. A descriptor answers every
 * question about its type; no other code asks for its name.
 */
export interface RuntimeType {
  readonly kind: 'runtime'
  /** The key in the API and in `stackquay.yml`. */
  readonly name: string
  /** For people: `Node.js`. */
  readonly label: string
  readonly summary: string
  /** Lower comes first when the project's URL needs an owner. */
  readonly urlOrder: number
  /** The settings as they are stored and answered; from `runtimeSettings`. */
  readonly settings: RuntimeSettings
  readonly presets: readonly Preset[]
  /** Stored fields that a new preset drops unless they are sent with it, besides `port`. */
  readonly presetDrops: readonly string[]
  /** For engines that run images. */
  readonly image: TypeImage
  /** How to find it on a machine. Null when it needs no program of its own. */
  readonly toolchain: ToolchainQuery | null
  /** Further programs that it may call (a package manager). A missing one is no blocker until settings need it. */
  readonly helpers: readonly ToolchainQuery[]
  /** Release lines, newest first: for end-of-life dates and the versions that an engine of images offers. */
  readonly releases: readonly Release[]
  /** The release line of a full version, which is what projects store: `26.10.0` is `26`, `3.11.2` is `3.11`. */
  lineOf(version: string): string
  /** The command that installs it, for `available: false`. */
  readonly install: InstallHint
  /** Files (relative to the project) whose presence or content the functions below need. */
  sourceFiles(settings: Settings): readonly string[]
  /** The preset and settings for a source tree, or null when this runtime does not recognise it. */
  detect(source: SourceFiles): DetectedRuntime | null
  /** Pure. Answers the workloads of this runtime (a server, a dev server). Throws `SettingsError` with the blocker. */
  toWorkloads(input: RuntimeInput): readonly WorkloadSpec[]
  /** Further files that `commands` needs; read only for commands. */
  commandFiles(settings: Settings): readonly string[]
  /** Pure: the commands that people can run. Answers also while the server is off or its settings cannot run. */
  commands(input: RuntimeInput): RuntimeCommands
  readonly programs: ProgramPresets
  /** Names of folders, at any depth, that backups leave out: its tools make them again, and nobody writes in one (not `vendor`). */
  readonly rebuildable: readonly string[]
}

/**
 * The official image of a type, for engines that run images. The program is started as on a machine: argv and jobs are the same,
 * only paths, addresses and ports differ. The image's own entrypoint is not used.
 */
export interface TypeImage {
  /** Of a release line, the newest of it: `postgres:18-bookworm`. */
  reference(line: string): string
  /** Folder below `images/` with a Dockerfile on top of it, where the official one lacks what development needs. */
  readonly builtIn?: string
  /** Its main program inside. Absolute. */
  program(line: string): string
  /** Further programs, by the names of the kind's `helpers`. */
  readonly helpers?: Readonly<Record<string, ChosenToolchain>>
  /** Node in it, which runs built-in programs. Without it the service's own Node is mounted. */
  readonly node?: string
  /** The user that it runs as. Null: the owner of the project's files. */
  readonly user: string | null
  /** Where the image keeps its data, and declares a volume. Absent when it keeps none. */
  data?(line: string): string
}

/**
 * What a program listens on: on a machine its lease, on loopback or where it is published; in a container every address, at the
 * port that the settings or the kind name.
 */
export interface Listen {
  readonly address: '127.0.0.1' | '0.0.0.0'
  readonly port: number
}

/** What people can run in a runtime: the environment of every command, and the actions that its source offers. */
export interface RuntimeCommands {
  readonly environment: CommandEnvironment
  readonly actions: readonly ActionDefinition[]
}

/** Where commands of a runtime run: terminals, exec, actions and tests alike. */
export interface CommandEnvironment {
  /** Complete, with PATH; what the workload's own program gets, but nothing about its port. */
  readonly env: Readonly<Record<string, Value>>
  /** Absolute. */
  readonly cwd: string
  /** Jobs before the first command of the source, such as installing dependencies; done once, as for a workload. */
  readonly setup: readonly Job[]
  /** Why the setup cannot run here, such as a missing package manager, and what to do; null or absent when it can. `setup` is empty then. */
  readonly setupReason?: string | null | undefined
}

export interface ActionDefinition {
  /** Unique in its runtime, as the source names it: `build`, `migrate`, `db:seed`. */
  readonly name: string
  /** As a person would type it: `npm run build`. */
  readonly label: string
  readonly summary: string
  /** argv; the first word is absolute, or `/usr/bin/env` with a program on PATH behind it. */
  readonly argv: readonly [string, ...string[]]
  readonly env?: Readonly<Record<string, Value>>
  /** Why it cannot run now and what to do; null when it can. */
  readonly reason: string | null
  /** It may delete data: `migrate:fresh`, `db:drop`. */
  readonly destructive: boolean
  /** Whether `setup` must be done first. */
  readonly needsSetup: boolean
}

export interface DatabaseType {
  readonly kind: 'database'
  /** `postgresql`. Answered as this, whatever alias was sent. */
  readonly name: string
  readonly aliases: readonly string[]
  readonly label: string
  readonly summary: string
  readonly port: number
  readonly toolchain: ToolchainQuery
  /** For engines that run images. */
  readonly image: TypeImage
  readonly releases: readonly Release[]
  lineOf(version: string): string
  readonly install: InstallHint
  readonly keepsData: true
  /** Why a database cannot have this name, or null when it can. */
  nameBlocker(name: string): string | null
  /** Secrets it needs, made once when it is created and kept until its data is deleted. */
  readonly secrets: readonly SecretField[]
  toWorkload(input: DatabaseInput): WorkloadSpec
  /**
   * Variables that runtimes of the project receive. `prefix` is empty for the first database, else `REPORTS_`. With an empty one those are
   * among them by which its client programs find it: they are what programs beside it get.
   */
  variables(input: DatabaseConnection, prefix: string): Readonly<Record<string, Value>>
  /** What the credentials endpoint answers, secrets as references. */
  credentials(input: DatabaseConnection): Readonly<Record<string, Value | number>>
  /** Without `backup` its data is only copied while it is stopped, and nobody counts what is in it. Without `dump` it has none. */
  readonly backup?: BackupMethod<DatabaseInput>
  readonly dump?: DumpMethod<DatabaseInput>
  /** Absent: data of one release line is never opened by another. */
  readonly upgrade?: UpgradeMethod<DatabaseInput>
  /** Absent: it is never made again as it was at a moment. */
  readonly pointInTime?: PointInTimeMethod<DatabaseInput>
}

/** A helper beside the project: a cache, a queue, a search engine. At most one of a type in a project. */
export interface ServiceType {
  readonly kind: 'service'
  /** The key in the API and in `stackquay.yml`. */
  readonly name: string
  /** The key that its own stands below; absent: it stands at the top. */
  readonly under?: string
  /** What an engine must be able to run; absent: either. */
  readonly needs?: 'images' | 'programs'
  /** It is given the project's source folder. */
  readonly seesSource?: true
  /** With less memory it cannot run. Bytes. */
  readonly memoryMinimum?: number
  readonly label: string
  readonly summary: string
  /** What it listens on; leases are made for all of them. The first is the one that clients of its protocol use. */
  readonly ports: readonly ServicePort[]
  /** The port is always published: `exposePort: false` is refused. */
  readonly alwaysPublished: boolean
  /** Whether it writes data that outlives it, in one data directory of the kind's name. */
  readonly keepsData: boolean
  /** In a test environment, never that of development: `own`, an empty one for that run, or `none` where a start takes long, without variables. */
  readonly forTests: 'own' | 'none'
  /** From `serviceSettings`. */
  readonly settings: ServiceSettings
  /** Null for a built-in program. */
  readonly toolchain: ToolchainQuery | null
  /** For engines that run images. */
  readonly image: TypeImage
  /** Newest first. */
  readonly releases: readonly Release[]
  lineOf(version: string): string
  readonly install: InstallHint
  /** Secrets it needs, made once when it is first enabled and kept until its data is deleted. */
  readonly secrets: readonly SecretField[]
  /** Names of the variables that runtimes of the project receive. */
  readonly injects: readonly string[]
  /** Why data that the release line `from` wrote cannot be opened by `to`, and null when it can. Only asked when there is data. */
  dataBlocker(from: string, to: string): string | null
  /** Whether a program runs here with these settings; of an external one the runtimes get only the address. Absent: always. */
  runsHere?(settings: ServiceFields): boolean
  /** Pure; asked only when a program runs here. Its name is the kind's. */
  toWorkload(input: ServiceInput): WorkloadSpec
  variables(input: ServiceConnection): Readonly<Record<string, Value>>
  /** Further variables that its own client programs know, for those that people run beside it. */
  clientVariables?(input: ServiceConnection): Readonly<Record<string, Value>>
  /** What the credentials operation answers, secrets as references; absent when there are none. Null stands for "none set". */
  credentials?(input: ServiceConnection): Readonly<Record<string, Value | number | boolean | null>>
  /** Its API answers at `<this>.<slug>.<base domain>` too, from the port `http`, to everybody. */
  readonly hostLabel?: string
  /** The port on which it answers the inbox of a mail catcher (see `services/mailpit/inbox.ts`), when it is one. */
  readonly inboxPort?: string
  /** Absent: its data is only copied while it is stopped, and nobody counts what is in it. */
  readonly backup?: BackupMethod<ServiceInput>
  /** People can look at its keys (see `services/drivers.ts`); its credentials say how it is reached. */
  readonly hasKeys?: true
}

export interface ServicePort {
  /** `redis`, `http`: safe in file names. */
  readonly name: string
  /** Where it listens inside its container; on the native engine it listens on the host port. */
  readonly port: number
  /** Whether publishing the service publishes this port. Others stay on loopback. */
  readonly published: boolean
  /** People who are signed in open it in a browser, at `<service>--<slug>.<base domain>`. */
  readonly page?: true
}

export interface SecretField {
  readonly name: string
  /** Random characters of `[0-9A-Za-z]`. */
  readonly length: number
}

export interface Release {
  /** What a project stores: `26`, `3.12`, `18`. */
  readonly version: string
  /** Date, `2027-04-30`. */
  readonly endOfLife: string | null
  /** Chosen where nobody chooses; without a mark it is the newest. */
  readonly default?: true
}

export interface InstallHint {
  /** A command for Debian and Ubuntu. */
  readonly debian: string
  /** One sentence for every other system. */
  readonly other: string
}

export interface Preset {
  readonly name: string
  readonly label: string
  readonly port: number
  readonly summary: string
}

/** Settings of one runtime as stored: fields of `RuntimeBase` and the kind's own. */
export type Settings = RuntimeBase & Readonly<Record<string, unknown>>

export interface RuntimeBase {
  readonly enabled: boolean
  readonly version: string
  readonly server: boolean
  readonly mode: 'development' | 'production'
  readonly preset: string
  readonly port: number
  readonly debug: boolean
  readonly debugPort: number
  readonly command: readonly string[] | null
}

export interface RuntimeSettings {
  /** Everything stored; strict. */
  readonly stored: z.ZodObject
  /** What PATCH and POST accept: all optional, read-only fields accepted and ignored, unknown fields refused. */
  readonly patch: z.ZodObject
  /** What GET answers: stored plus `hostPort` and `debugHostPort`. */
  readonly view: z.ZodObject
  /** Values of a runtime that is enabled without other settings; `version` and `port` are decided elsewhere. */
  defaults(): Omit<Settings, 'version' | 'port'>
}

/** Settings of one service as stored: the fields of every service and the kind's own. */
export type ServiceFields = ServiceBase & Readonly<Record<string, unknown>>

export interface ServiceBase {
  readonly enabled: boolean
  readonly version: string
  readonly exposePort: boolean
}

export interface ServiceSettings {
  /** Everything stored; strict. A secret in it is a reference. */
  readonly stored: z.ZodObject
  /** What PATCH and POST accept: all optional, `hostPort` accepted and ignored, unknown fields refused. */
  readonly patch: z.ZodObject
  /** What GET answers: stored plus `hostPort`, without secrets. */
  readonly view: z.ZodObject
  /** Values of a service that is enabled without other settings; `version` is decided elsewhere. */
  defaults(): Omit<ServiceFields, 'version'>
  /** Stored fields that describe data when it is made, such as who may read a bucket: data that is there keeps them, and with it they go back to their defaults. */
  readonly ofData: readonly string[]
  /** Paths of texts that are sealed and never answered: `['external', 'password']`. */
  readonly secretFields: readonly (readonly [string, ...string[]])[]
}

/** Content of the files a kind asked for: text, or `true` for a folder or a file too large or not text. Absent: not there. */
export type SourceFiles = Readonly<Record<string, string | true>>

export interface DetectedRuntime {
  /** 0 to 1: how sure. */
  readonly confidence: number
  /** Why, for people: `package.json depends on vite`. */
  readonly because: string
  readonly settings: Readonly<Record<string, unknown>>
}

/** A program of this machine that was chosen for a runtime, with helpers that belong to it. */
export interface ChosenToolchain {
  readonly version: string
  /** Absolute path of the main program. */
  readonly program: string
  /** Its directory; goes first in PATH. */
  readonly directory: string
}

export interface RuntimeInput {
  readonly project: ProjectFacts
  readonly settings: Settings
  readonly toolchain: ChosenToolchain
  /** Of the kind's `helpers` those that are available, by the query's name; the newest when there are several. */
  readonly helpers?: Readonly<Record<string, ChosenToolchain>>
  readonly source: SourceFiles
  /** Leased port of this machine for a workload's port: `hostPort('node', 'http')`. */
  hostPort(workload: string, port: string): number
  /** The address and port that the workload's program listens on for it. */
  listen(workload: string, port: string): Listen
  /** Its programs run in a container of `image`, not on this machine. */
  readonly inContainer?: boolean
  /** All variables of the project: injected ones of databases and services first, the person's own after. */
  readonly env: Readonly<Record<string, Value>>
  /** Names of workloads the runtime must wait for. */
  readonly dependsOn: readonly string[]
  /** Absolute path of a built-in program that workloads may run with Node: `static-server`. */
  ourProgram(name: string): { readonly node: string; readonly file: string }
  readonly healthCheck: HealthCheckInput | null
}

export interface ProjectFacts {
  readonly id: string
  readonly slug: string
  /** Complete, with the proxy's port. */
  readonly url: string
  /** Absolute path of the source folder. */
  readonly path: string
  /** Where tools may keep caches and virtual environments of this project; outside the source folder. Absolute. */
  readonly toolsPath: string
}

export interface DatabaseInput extends DatabaseConnection {
  readonly project: ProjectFacts
  readonly version: string
  readonly toolchain: ChosenToolchain
  /** Leased port of this machine, and the address at which it is published: loopback unless the person wants otherwise. */
  readonly hostPort: number
  readonly bind: PortBinding['bind']
  /** What its program listens on. */
  readonly listen: Listen
  /** `postgresql-main`: the workload's and the data's name. */
  readonly name: string
  /** Name of the kept data that its log of changes goes to; absent: it goes nowhere. */
  readonly archive?: string
  /** The data is not needed after a crash or a stop: it may be quicker than safe. */
  readonly throwaway?: boolean
  /** Its program runs in a container of `image`, not on this machine. */
  readonly inContainer?: boolean
  /** Absolute path of a built-in program that may run beside it with Node. */
  ourProgram(name: string): { readonly node: string; readonly file: string }
}

export interface ServiceInput extends ServiceConnection {
  /** Null for a kind without a toolchain. */
  readonly toolchain: ChosenToolchain | null
  /** Leased port of this machine for a port of the kind. */
  hostPort(port: string): number
  /** Address at which that is published: loopback unless it is published and the instance publishes elsewhere. */
  bind(port: string): PortBinding['bind']
  /** What its program listens on for a port of the kind. */
  listen(port: string): Listen
  /** Its name at the proxy; absent for a kind without a page. */
  readonly pageHost?: string
  /** Its program runs in a container of `image`, not on this machine. */
  readonly inContainer?: boolean
  /** Absolute path of a built-in program that workloads may run with Node. */
  ourProgram(name: string): { readonly node: string; readonly file: string }
}

/** A workload without its project and fingerprint. */
export type WorkloadSpec = Omit<Workload, 'ref' | 'fingerprint'> & { readonly name: string }

export type * from './connection.ts'
export { SettingsError } from './settings-error.ts'
