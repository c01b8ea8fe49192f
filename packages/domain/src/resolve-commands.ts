import {
  type ActionDefinition,
  type ChosenToolchain,
  type RuntimeType,
  runtimeTypes,
  type Settings,
  SettingsError,
  type SuiteDefinition,
  type SuiteInput,
  type SuiteType,
  searchPath,
  suiteTypes,
} from '@stackquay/catalog'
import { commandText } from './command-line.ts'
import { homeOf, jobsIn, ownLimits, sourceContainer } from './containers.ts'
import { timeLimitSeconds } from './cron.ts'
import type { NamedEnvironment } from './named-environment.ts'
import { type Connections, packageFolder, resolveConnections } from './resolve-connections.ts'
import { dataEnvironments } from './resolve-data-environments.ts'
import type { ResolveFacts } from './resolve-facts.ts'
import { runtimeInput } from './resolve-runtime.ts'
import { toolchainOf, unavailableHere } from './resolve-toolchain.ts'
import { commandArgv, modeVariables, runtimeOf } from './resolve-workers.ts'
import type { CronSpec, ProjectSpec } from './spec.ts'

/** What people can run in a project, and where. */
export interface ProjectCommands {
  /** By runtime, in the order of the catalogue; of a project without any, `project` with the system's PATH. */
  readonly environments: readonly NamedEnvironment[]
  /** Of its databases and services, for terminals and single programs. */
  readonly dataEnvironments: readonly NamedEnvironment[]
  /** Ids are `<runtime>.<name>`. */
  readonly actions: readonly FoundAction[]
  readonly suites: readonly FoundSuite[]
  /** Cron jobs, those that are off too. */
  readonly cron: readonly FoundCron[]
}

export type FoundAction = ActionDefinition & { readonly id: string; readonly runtime: string }
export type FoundSuite = SuiteDefinition & { readonly id: string; readonly runner: string; readonly runtime: string }
export interface FoundCron extends Pick<ActionDefinition, 'label' | 'argv' | 'env' | 'reason' | 'needsSetup'> {
  /** Its name in the project. */
  readonly id: string
  readonly runtime: string
  readonly timeLimitSeconds: number
}

/** Pure. Works in every state of the project: a command that cannot run has a reason instead of being absent. */
export function resolveCommands(spec: ProjectSpec, facts: ResolveFacts): ProjectCommands {
  const connections = resolveConnections(spec, facts)
  const runtimes = runtimeTypes.flatMap((kind) => {
    const settings = spec.runtimes[kind.name]
    return settings?.enabled === true ? [ofRuntime(kind, settings, { spec, facts, connections })] : []
  })
  const project = projectEnvironment(spec, facts, connections)
  const environments = runtimes.map(({ environment }) => environment)
  const places = environments.length === 0 ? [project] : environments
  return {
    environments: places,
    dataEnvironments: dataEnvironments(spec, facts, connections),
    actions: runtimes.flatMap(({ actions }) => actions),
    cron: Object.entries(spec.cron ?? {}).map(([name, job]) => {
      const kind = runtimeOf(spec, job.runtime)
      const found = runtimes.find(({ environment }) => environment.name === kind?.name)
      return foundCron(name, job, found ?? { environment: project, mode: {} })
    }),
    suites: suiteTypes.flatMap((kind) => {
      if (kind.runtime === null)
        return suitesOf(kind, environments[0] ?? project, { facts, settings: null, program: null })
      const runtime = runtimes.find(({ environment }) => environment.name === kind.runtime)
      if (runtime === undefined) return []
      const { environment, settings, program } = runtime
      return suitesOf(kind, environment, { facts, settings, program })
    }),
  }
}

function ofRuntime(
  kind: RuntimeType,
  settings: Settings,
  resolving: { readonly spec: ProjectSpec; readonly facts: ResolveFacts; readonly connections: Connections },
): {
  readonly environment: NamedEnvironment
  readonly actions: readonly FoundAction[]
  readonly settings: Settings
  readonly program: string | null
  /** What only programs in the mode of the server have. */
  readonly mode: ActionDefinition['env']
} {
  const found = toolchainOf(kind, settings, resolving.facts)
  const toolchain = found ?? missing(kind, settings)
  const reason = found === null ? unavailableHere(kind.label, settings.version, kind.install) : null
  const input = runtimeInput(kind, settings, toolchain, { ...resolving, dependsOn: [] })
  const commands = kind.commands(input)
  const environment = inside(kind, settings, resolving, {
    ...commands.environment,
    name: kind.name,
    label: kind.label,
    reason,
  })
  return {
    environment,
    actions: commands.actions.map((action) => ({
      ...action,
      id: `${kind.name}.${action.name}`,
      runtime: kind.name,
      reason: reasonOf(action, environment),
    })),
    settings,
    program: kind.toolchain === null ? null : (found?.program ?? null),
    mode: modeVariables(kind, input),
  }
}

/** One whose runtime is off has nowhere to run, whatever else the project has. */
function foundCron(
  name: string,
  { command, runtime, timeLimit }: CronSpec,
  { environment, mode = {} }: { readonly environment: NamedEnvironment; readonly mode?: ActionDefinition['env'] },
): FoundCron {
  const wanted = { reason: null, needsSetup: true }
  const isOff = runtime !== null && runtime !== environment.name
  return {
    id: name,
    label: commandText(command),
    argv: commandArgv(command),
    // What the place itself sets stays: it is complete.
    env: Object.fromEntries(Object.entries(mode).filter(([variable]) => !(variable in environment.env))),
    runtime: environment.name,
    ...wanted,
    reason: isOff ? `It runs in ${runtime}, which is off. Enable it.` : reasonOf(wanted, environment),
    timeLimitSeconds: timeLimitSeconds(timeLimit),
  }
}

function inside(
  kind: Pick<RuntimeType, 'name' | 'image'>,
  { version }: Pick<Settings, 'version'>,
  { spec, facts }: { readonly spec: ProjectSpec; readonly facts: ResolveFacts },
  environment: NamedEnvironment,
): NamedEnvironment {
  if (facts.containers === null) {
    const own = ownLimits(spec, kind.name)
    return { ...environment, setup: environment.setup.map((job) => ({ ...job, ...own })), ...own }
  }
  const container = sourceContainer(kind.image, version, { workload: kind.name, spec, facts }, facts.containers)
  return {
    ...environment,
    env: { ...homeOf(facts), ...environment.env },
    setup: jobsIn(environment.setup, container),
    container,
  }
}

/** A likely place. Nothing is started with it, because every command of the runtime has the reason. */
function missing(kind: RuntimeType, settings: Settings): ChosenToolchain {
  return { version: settings.version, program: `/usr/bin/${kind.toolchain?.programs[0]}`, directory: '/usr/bin' }
}

/** The widest blocker comes first: without a toolchain nothing else matters. */
function reasonOf(
  wanted: { readonly reason: string | null; readonly needsSetup: boolean },
  environment: NamedEnvironment,
): string | null {
  return environment.reason ?? wanted.reason ?? (wanted.needsSetup ? (environment.setupReason ?? null) : null)
}

function projectEnvironment(spec: ProjectSpec, facts: ResolveFacts, connections: Connections): NamedEnvironment {
  const environment: NamedEnvironment = {
    name: 'project',
    label: 'Project',
    reason: null,
    env: { PATH: searchPath([]), ...connections.variablesOf(null) },
    cwd: facts.project.path,
    setup: [],
  }
  // Without a runtime there is no image of the project's own; this one has a shell and the usual programs.
  return inside(projectKind, { version: '1' }, { spec, facts }, environment)
}

function suitesOf(
  kind: SuiteType,
  environment: NamedEnvironment,
  of: { readonly facts: ResolveFacts; readonly settings: Settings | null; readonly program: string | null },
): readonly FoundSuite[] {
  const { facts, settings, program } = of
  let blocker: string | null = null
  const input: SuiteInput = {
    project: facts.project,
    source: facts.source,
    settings,
    folder: packageFolder(settings),
    environment,
    program,
    ourProgram: (name) => {
      try {
        return facts.ourProgram(name)
      } catch (error) {
        if (!(error instanceof SettingsError)) throw error
        blocker ??= `${error.message} ${error.hint}`
        return { node: '/usr/bin/false', file: '' }
      }
    },
  }
  return kind.find(input).map((suite) => ({
    ...suite,
    id: `${environment.name}.${suite.name}`,
    runner: kind.runner,
    runtime: environment.name,
    reason: blocker ?? reasonOf(suite, environment),
  }))
}

/** Its image is small, has a shell, and belongs to no language that the project did not choose. */
const projectKind = runtimeTypes.find(({ toolchain }) => toolchain === null)!
