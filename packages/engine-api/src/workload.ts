import type { Value } from './value.ts'

/** Which workload of which project. Both parts are safe as file names: `[a-z0-9_-]`, the project's id and the workload's name. */
export interface WorkloadRef {
  readonly project: string
  readonly workload: string
}

/** Everything an engine needs to run one long-lived program, fully resolved; it knows no project, user or request. */
export interface Workload {
  readonly ref: WorkloadRef
  /** For people: `Node.js server`, `PostgreSQL main`. */
  readonly title: string
  /** What to run, and in what. An engine refuses a form that it does not know: see `Capabilities`. */
  readonly run: ProcessRun
  readonly env: Readonly<Record<string, Value>>
  /** Directories of kept data. Their content is deleted by `deleteData` steps alone. */
  readonly data: readonly DataMount[]
  readonly ports: readonly PortBinding[]
  /** Jobs that must have succeeded before the program starts, in order; each runs again only when its fingerprint changed. */
  readonly setup: readonly Job[]
  /** Files that must exist before the program can start. While one is missing the workload waits and says so. */
  readonly requires: readonly RequiredFile[]
  readonly health: HealthCheck
  readonly restart: RestartPolicy
  readonly stop: StopPolicy
  /** Names of workloads of the same project that must be ready first. */
  readonly dependsOn: readonly string[]
  /** Hash of all of the above that a running program would notice; equal fingerprints mean there is nothing to do. Made by `fingerprintOf`. */
  readonly fingerprint: string
}

export interface ProcessRun {
  readonly kind: 'process'
  /** argv, never a shell string. `argv[0]` is an absolute path. */
  readonly argv: readonly [string, ...string[]]
  /** Absolute. */
  readonly cwd: string
  /** The container on an engine of images; absent on one that runs programs of this machine. Paths above are those inside. */
  readonly container?: Container
  /** On an engine that runs programs of this machine and can limit them; absent: no limit but the engine's own. */
  readonly limits?: Limits
}

/** The container of a program on an engine of images: all that it sees of the world. There are no further options. */
export interface Container {
  /** As registries name it, with a tag or a digest, or the id of one that is there. */
  readonly image: string
  /** Set for a built-in image, which is built here when it is not there. */
  readonly build: ImageBuild | null
  /** `uid:gid`, or the name of a user of the image. Never root unless the image has no other user and needs it. */
  readonly user: string
  /** Id of the project in whose network it is. Workloads find each other there by their names. */
  readonly network: string
  /** Folders of this machine, each at the same path inside. Those that are not there are not made. */
  readonly folders: readonly FolderMount[]
  /** Where kept data stands inside, by its name. Absolute. */
  readonly data: Readonly<Record<string, string>>
  readonly limits: Limits
}

/** A built-in image: a Dockerfile that begins with `ARG BASE` and `FROM ${BASE}`. Its name is made of its content. */
export interface ImageBuild {
  readonly base: string
  /** Absolute path of the folder with the Dockerfile. */
  readonly folder: string
}

export interface FolderMount {
  readonly path: string
  readonly readOnly: boolean
}

/** Null: no limit but the engine's own. */
export interface Limits {
  /** Share of cores: 0.5 is half of one. */
  readonly cpus: number | null
  readonly memoryBytes: number | null
  readonly pids: number | null
}

export interface DataMount {
  /** Names the data within its project and outlives the workload: `postgresql-main`, `redis`. */
  readonly name: string
  /** The environment variable that names the directory to the program, where it takes one. */
  readonly envName?: string
}

/** In argv, env values, cwd and stdin of a process the text `{data:NAME}` stands for the absolute path of that data directory. */
export function dataPath(name: string): string {
  return `{data:${name}}`
}

export interface PortBinding {
  /** `http`, `postgresql`, `debug`. */
  readonly name: string
  /** The port that the program listens on; without a container the same as `hostPort`. */
  readonly port: number
  readonly hostPort: number
  /** Address the host port is bound to: loopback unless the project exposes it. */
  readonly bind: '127.0.0.1' | '0.0.0.0'
}

export interface Job {
  /** Unique in its workload: `install`, `init`. */
  readonly name: string
  /** For people: `Install dependencies (npm ci)`. */
  readonly title: string
  readonly argv: readonly [string, ...string[]]
  readonly cwd: string
  /** As of the workload that it belongs to. */
  readonly container?: Container
  readonly limits?: Limits
  readonly env: Readonly<Record<string, Value>>
  readonly stdin?: Value
  /** Seconds after which the job's process group is ended and the step fails. */
  readonly timeoutSeconds: number
  /** Paths (absolute) whose content decides whether the job runs again, e.g. a lock file. A missing file counts as absent. */
  readonly inputs: readonly string[]
  /** The job counts as done while this path exists and its fingerprint is unchanged, e.g. `node_modules`. */
  readonly creates?: string
  /** Never run again once done, even when its argv changes: it would destroy kept data (`initdb`). */
  readonly once?: boolean
  /** Whether the job may be killed at any point and run again from the start after its `creates` was removed by the engine. */
  readonly removeCreatesOnFailure?: boolean
}

export interface RequiredFile {
  /** Absolute path, or several of which one must exist. */
  readonly anyOf: readonly [string, ...string[]]
  /** Says what is missing and what to do: `package.json has no script "dev"`. */
  readonly hint: string
}

export type HealthCheck =
  | { readonly kind: 'none' }
  | {
      readonly kind: 'tcp'
      readonly port: string
      readonly timeoutSeconds: number
      /** A server that accepts connections before it can serve them: what to say, and how its answer begins when it can. Base64. */
      readonly greeting?: { readonly send: string; readonly expect: string }
    }
  | {
      readonly kind: 'http'
      readonly port: string
      readonly path: string
      /** Lowest and highest status that count as healthy. */
      readonly status: readonly [number, number]
      /** Others that do, too. */
      readonly moreStatuses?: readonly (readonly [number, number])[]
      readonly timeoutSeconds: number
      /** Between checks when all is well; absent: 15. */
      readonly intervalSeconds?: number
      /** Failed checks in a row after which what was healthy is unhealthy; absent: 3. */
      readonly failures?: number
    }

export interface RestartPolicy {
  readonly kind: 'always' | 'never'
}

export interface StopPolicy {
  readonly signal: 'SIGTERM' | 'SIGINT' | 'SIGQUIT' | 'SIGHUP'
  /** Seconds between the signal and SIGKILL to the whole process group. */
  readonly deadlineSeconds: number
}
