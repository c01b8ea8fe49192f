import type { Job, PortBinding, ProcessRun, RequiredFile, StopPolicy, Value } from '@stackquay/engine-api'
import { type Listen, type RuntimeInput, SettingsError, type WorkloadSpec } from './entry-types.ts'

/** What a runtime says about a server of its own; the rest is the same for all. */
export interface ServerParts {
  /** `node`, `node-dev`. */
  readonly name: string
  readonly title: string
  readonly argv: ProcessRun['argv']
  readonly cwd: string
  /** Defaults, which the person's variables replace. `PORT`, `HOST` and PATH are there already. */
  readonly env?: Readonly<Record<string, Value>>
  /** What must hold whatever the person's variables say. */
  readonly forced?: Readonly<Record<string, Value>>
  /** Directories that go before the system's in PATH, first the toolchain's. */
  readonly path: readonly string[]
  readonly setup?: readonly Job[]
  readonly requires?: readonly RequiredFile[]
  readonly debug?: boolean
  readonly stop?: StopPolicy
}

/**
 * The workload of a web server. Where it must listen it learns from its flags where the framework has them, and always from
 * `HOST` and `PORT`.
 */
export function serverWorkload(input: RuntimeInput, parts: ServerParts): WorkloadSpec {
  const { address, port } = input.listen(parts.name, 'http')
  return {
    name: parts.name,
    title: parts.title,
    run: { kind: 'process', argv: overridden(input) ?? parts.argv, cwd: parts.cwd },
    env: {
      PATH: searchPath(parts.path),
      HOST: address,
      ...parts.env,
      ...input.env,
      ...parts.forced,
      PORT: String(port),
    },
    data: [],
    ports: ['http', ...(parts.debug ? ['debug'] : [])].map((name) => binding(input, parts.name, name)),
    setup: parts.setup ?? [],
    requires: parts.requires ?? [],
    health: health(input),
    restart: { kind: 'always' },
    stop: parts.stop ?? { signal: 'SIGTERM', deadlineSeconds: 10 },
    dependsOn: input.dependsOn,
  }
}

/** The person's own command. Its first word is found through PATH, as in a shell, unless it is an absolute path. */
function overridden(input: RuntimeInput): ProcessRun['argv'] | null {
  const command = input.settings.command
  const [program] = command ?? []
  if (command === null || program === undefined) return null
  return program.startsWith('/') ? (command as unknown as ProcessRun['argv']) : onPath(command)
}

/** argv of a program that is looked up in the PATH of its own environment. `env` becomes it, so no process stands between. */
export function onPath(words: readonly string[]): ProcessRun['argv'] {
  return ['/usr/bin/env', ...words]
}

const systemPath = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin', '/opt/homebrew/bin']

export function searchPath(first: readonly string[]): string {
  return [...new Set([...first, ...systemPath])].join(':')
}

/** On loopback of this machine: the proxy is what others reach. */
function binding(input: RuntimeInput, workload: string, name: string): PortBinding {
  const { port } = input.listen(workload, name)
  return { name, port, hostPort: input.hostPort(workload, name), bind: '127.0.0.1' }
}

/** `127.0.0.1:8000`, as most programs take it. */
export function place({ address, port }: Listen): string {
  return `${address}:${port}`
}

/** The first start of a development server may compile for a while; what serves in production should be up sooner. */
function health(input: RuntimeInput): WorkloadSpec['health'] {
  const check = input.healthCheck
  if (check === null) {
    return { kind: 'tcp', port: 'http', timeoutSeconds: input.settings.mode === 'development' ? 120 : 60 }
  }
  const { path, timeoutSeconds, statuses = [[200, 399]], ...more } = check
  const [status = [200, 399], ...others] = statuses
  const moreStatuses = others.length === 0 ? {} : { moreStatuses: others }
  return { kind: 'http', port: 'http', path, status, ...moreStatuses, timeoutSeconds, ...more }
}

/**
 * The person's variables that installing tools read: registries, tokens, proxies, compilers. The others stay away from
 * installation jobs, so that changing a variable of the application does not install everything again.
 */
export function installVariables(env: RuntimeInput['env']): Readonly<Record<string, Value>> {
  return Object.fromEntries(Object.entries(env).filter(([name]) => readByInstallers.test(name)))
}

const readByInstallers =
  /^(npm_|yarn_|pnpm_|bun_|node_|pip_|uv_|twine_|go[a-z]*$|cgo_|bundle_|gem_|composer_|git_|ssl_|ssh_|https?_proxy$|all_proxy$|no_proxy$|cc$|cxx$|cflags$|ldflags$|ld_library_path$|home$|path$)|_(token|pat)$|_index_url$/i

/**
 * `creates` of a job that must run at each start, such as a build: any file of the source may have changed. A job is done
 * while what it creates is there; this is never there. A restart after a crash does not run jobs.
 */
export function atEveryStart(input: RuntimeInput): string {
  return `${input.project.toolsPath}/never-there`
}

/** A path below the project; `folder` is relative and has been checked by `RelativeFolder`. */
export function below(base: string, folder: string): string {
  const clean = folder.split('/').filter((part) => part !== '' && part !== '.')
  return [base, ...clean].join('/')
}

/** The same for the keys of `SourceFiles`, which are relative to the project. */
export function inSource(folder: string, file: string): string {
  return below('', `${folder}/${file}`).slice(1)
}

/** Where tools keep what they have downloaded and compiled: the project's own, so that no other can change what it installs. */
export function cacheFolder(input: RuntimeInput, tool: string): string {
  return `${input.project.toolsPath}/cache/${tool}`
}

export function refuseDebug(input: RuntimeInput, message: string, hint: string): void {
  if (input.settings.debug) throw new SettingsError('debug', message, hint)
}
