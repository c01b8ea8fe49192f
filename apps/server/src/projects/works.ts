import { join } from 'node:path'
import { ProblemError } from '@stackquay/contract'
import { mergeProject, type PlanRequest, planProject, serviceSecret } from '@stackquay/domain'
import { type Change, type Engine, EngineError, type SecretRef, type WorkloadRef } from '@stackquay/engine-api'
import { type Accounts, removeGivenFolder } from '@stackquay/engines'
import { engineSteps, type Orchestrator, type Outcome, type Work, type WorkStep } from '@stackquay/orchestrator'
import type { OperationRow, ProjectRow, ProjectSource, Store } from '@stackquay/store'
import type { Config } from '../config.ts'
import type { Provision } from '../isolation/provision.ts'
import type { Runs } from '../runs/runs.ts'
import type { Terminals } from '../terminals/terminals.ts'
import type { Workers } from '../workers/workers.ts'
import type { Catalogue } from './catalogue.ts'
import { limitsObstacle, type Removal } from './change-project.ts'
import type { EngineChoice } from './engine-choice.ts'
import type { FilesOf } from './files-of.ts'
import { readManifest } from './manifest-file.ts'
import type { Model } from './model.ts'
import { prepareProject, refuseErrors } from './prepare.ts'
import { readProjectFile } from './read-project-file.ts'
import { removalsOf } from './removals.ts'
import type { Resolver } from './resolver.ts'
import type { RestartHolds } from './restart-holds.ts'
import { setSecretsAside } from './secrets-aside.ts'
import type { Sources } from './sources.ts'
import { straysOf } from './strays.ts'

export interface WorksOptions {
  readonly workers: Pick<Workers, 'run'>
  readonly store: Store
  readonly model: Model
  readonly resolver: Resolver
  readonly catalogue: Catalogue
  readonly engine: Engine
  readonly engines: EngineChoice
  readonly sources: Sources
  readonly config: Config
  readonly accounts: Accounts
  readonly provision: Provision
  /** Ends what acts as the project's user for the service. */
  release(project: string): Promise<void>
  /** Of a project that is gone: takes its access to a folder of somebody else and its user away. */
  retire(project: Pick<ProjectRow, 'id' | 'path'>): Promise<void>
  readonly filesOf: FilesOf
  readonly runs: Pick<Runs, 'holdsAny' | 'endAll' | 'forgetAll'>
  readonly terminals: Pick<Terminals, 'settleAll'>
  readonly restartHolds: RestartHolds
  reveal(ref: SecretRef): Promise<string>
  orchestrator(): Orchestrator
}

/** Seconds an operation may take: installing dependencies and cloning are the long parts. */
const deadlines = { long: 30 * 60, short: 5 * 60 } as const

/** Name under which the URL of a repository is sealed when it holds credentials. */
export const sourceUrlSecret = 'source/url'

/** What each kind of operation does. Every step may be done again after a crash. */
export function createWorks(options: WorksOptions): (operation: string) => Promise<Work> {
  const { store, model, resolver, catalogue, engine, sources, config, restartHolds } = options
  const forever = new AbortController().signal

  const find = async (id: string): Promise<ProjectRow> => {
    const row = await store.projects.find(id)
    if (row === null) throw new ProblemError('not_found', 'The project is gone.')
    return row
  }

  /** Observes, plans and answers the engine's steps; remembers of which workload a step failed. */
  const reach = async (
    project: string,
    failures: Failures,
    request: Partial<PlanRequest> & Pick<PlanRequest, 'goal'>,
  ): Promise<readonly WorkStep[]> => {
    const known =
      request.goal === 'running'
        ? await prepareProject(project, { store, model, engine, config, provision: options.provision }, forever, {
            partly: request.touches !== undefined || request.keepChanged === true,
          })
        : await model.renew(project)
    const observed = await options.orchestrator().observations.refresh(project)
    const { workloads, unresolved } = known.resolved
    const strays = request.goal === 'stopped' ? straysOf(options.engines.named(known.row.engine), project) : {}
    const { changes } = planProject({ wanted: workloads, unresolved, observed, ...strays, ...request })
    options.orchestrator().supervisor.reset(project, request.only)
    return restartHolds.around({ project, changes, wanted: workloads, observed }, (change) =>
      watched([change], failures),
    )
  }

  const watched = (changes: readonly Change[], failures: Failures): readonly WorkStep[] =>
    changes.flatMap((change) => {
      const ref = refOf(change)
      return engineSteps(engine, [change], options.reveal).map((step) => ({
        ...step,
        ...laneOf(change),
        run: async (context) => {
          try {
            await step.run(context)
          } catch (error) {
            if (ref !== null) failures.push({ ref, error })
            throw error
          } finally {
            // Only so that the status is right early; who needs the answer looks for himself.
            if (ref !== null)
              options
                .orchestrator()
                .observations.refresh(ref.project)
                .catch(() => undefined)
          }
        },
      }))
    })

  const afterStart = (project: string, failures: Failures, only?: string) => async (outcome: Outcome) => {
    await restartHolds.letGo(project)
    if (outcome.state === 'failed') {
      for (const { ref, error } of failures) {
        options
          .orchestrator()
          .supervisor.gaveUp(ref, messageOf(error), error instanceof EngineError ? error.logTail : [])
      }
    }
    if (outcome.state === 'cancelled') {
      if (only === undefined) await store.transaction((tx) => tx.projects.setLifecycle(project, { desired: 'stopped' }))
      const left = await stopNow(project, only)
      // One workload was to be started and nothing else runs: the project is as it was before.
      if (only !== undefined && !left.some((one) => one.state === 'running' || one.state === 'waiting'))
        await store.transaction((tx) => tx.projects.setLifecycle(project, { desired: 'stopped' }))
    }
    await finish(project)
  }

  /** Stops everything, or only one workload. Answers what is there afterwards. */
  const stopNow = async (project: string, only: string | undefined) => {
    const known = await model.renew(project)
    const observed = await options.orchestrator().observations.refresh(project)
    const which = only === undefined ? {} : { only }
    const { workloads: wanted, unresolved } = known.resolved
    const strays = straysOf(options.engines.named(known.row.engine), project)
    const { changes } = planProject({ wanted, unresolved, observed, goal: 'stopped', ...strays, ...which })
    const context = { signal: AbortSignal.timeout(120_000), output: () => undefined }
    for (const step of engineSteps(engine, changes, options.reveal)) await step.run(context)
    return options.orchestrator().observations.refresh(project)
  }

  /** The status and the routes are right when the operation is reported as ended. */
  const finish = async (project: string) => {
    await model.renew(project)
    await model.settled()
  }

  const makeSource = (row: ProjectRow): WorkStep => {
    const source: ProjectSource = row.source ?? { kind: 'empty' }
    const step = (title: string, run: WorkStep['run']): WorkStep => ({ id: 'source', title, run })
    switch (source.kind) {
      case 'template':
        return step('Copy the template', (context) => sources.fromTemplate(source.template, row, context.signal))
      case 'git':
        return step(`Clone ${source.url}`, async (context) => {
          const sealed = await store.secrets.find(row.id, sourceUrlSecret)
          const url = sealed === null ? source.url : (await store.secrets.reveal(sealed.secret)).expose()
          await sources.fromGit({ url, branch: source.branch }, row, context)
        })
      case 'folder':
        return step('Use the folder', async (context) => {
          await options.provision(row.id, context.signal)
          await sources.checkFolder(row)
        })
      case 'copy':
        return step('Copy the files', async (context) => {
          const original = await find(source.of)
          await sources.fromFolder(original, row, context.signal)
        })
      case 'empty':
        return step('Make the folder', () => sources.empty(row))
      default:
        return source satisfies never
    }
  }

  /** What the source itself says: its project file, or what it looks like. Nothing when runtimes were named already. */
  const readSource = (row: ProjectRow): WorkStep => ({
    id: 'detect',
    title: 'Look at the source',
    run: async (context) => {
      const now = await find(row.id)
      const spec =
        Object.keys(now.spec.runtimes).length > 0
          ? now.spec
          : await specOfSource(now, (text) => context.output({ stream: 'stdout', text: `${text}\n` }))
      await store.transaction(async (tx) => {
        const changed = await tx.projects.update(row.id, now.generation, { spec })
        await tx.projects.setLifecycle(row.id, { phase: 'ready' })
        await tx.events.append({
          type: 'project.changed',
          project: row.id,
          data: { id: row.id, slug: row.slug, generation: changed.generation },
        })
      })
      await model.renew(row.id)
    },
  })

  const specOfSource = async (row: ProjectRow, say: (text: string) => void) => {
    const offers = await catalogue.offers(row.engine)
    const text = await readManifest(await options.filesOf(row), row.path)
    if (text !== null) {
      const parsed = await readProjectFile(options.workers, text)
      if (!parsed.ok)
        throw new ProblemError('manifest_invalid', 'The stackquay.yml of the source is not valid.', {
          errors: parsed.errors,
        })
      const { name: _name, env: variables, ...body } = parsed.manifest.patch
      // What was sent when the project was created wins: it may be the text of a secret, and the file holds none.
      const sent = Object.entries(variables ?? {}).filter(([variable]) => !Object.hasOwn(row.spec.env, variable))
      const { patch, env } = await setSecretsAside(row.spec, { ...body, env: Object.fromEntries(sent) }, store)
      const merged = mergeProject(row.spec, patch, env, offers, 'enables')
      if (!merged.ok)
        throw new ProblemError('manifest_invalid', 'The stackquay.yml of the source does not fit this machine.', {
          errors: merged.errors,
        })
      refuseErrors(limitsObstacle(options.engines.named(row.engine), row.spec, merged.spec))
      say('Took the settings of stackquay.yml.')
      return merged.spec
    }
    const best = (await resolver.detect(row))[0]
    if (best === undefined) {
      say('Nothing was recognised: enable a runtime by hand.')
      return row.spec
    }
    say(`Runs with ${best.runtime}: ${best.detected.because}.`)
    const merged = mergeProject(row.spec, { [best.runtime]: best.detected.settings }, {}, offers, 'enables')
    if (!merged.ok)
      throw new ProblemError('unavailable_here', merged.errors[0]?.detail ?? 'Its runtime is not available here.', {
        errors: merged.errors,
      })
    return merged.spec
  }

  const create = (operation: OperationRow): Work => {
    const failures: Failures = []
    const id = operation.project
    return {
      deadlineSeconds: deadlines.long,
      stages: [
        async () => {
          const row = await find(id)
          return row.phase === 'ready' ? [] : [makeSource(row), ...copyDataSteps(row, operation), readSource(row)]
        },
        async () => {
          const row = await find(id)
          if (row.desired !== 'running') return []
          const known = await model.renew(id)
          if (known.resolved.workloads.length === 0 && known.resolved.errors.length === 0) return []
          return reach(id, failures, { goal: 'running' })
        },
      ],
      settle: async (outcome) => {
        const row = await store.projects.find(id)
        if (row === null) return
        if (row.phase === 'creating' && outcome.state !== 'succeeded') return undo(row)
        await sources.keep(row)
        const { workloads, errors } = (await model.renew(id)).resolved
        if (workloads.length + errors.length === 0 && row.desired === 'running') {
          await store.transaction((tx) => tx.projects.setLifecycle(id, { desired: 'stopped' }))
        }
        await afterStart(id, failures)(outcome)
      },
    }
  }

  /** A creation that failed before there was a source leaves nothing. */
  const undo = async (row: ProjectRow) => {
    await sources.undo(row)
    for (const name of await engine.dataNames(row.id, forever)) {
      for (const step of engineSteps(engine, [{ type: 'deleteData', project: row.id, data: name }], options.reveal)) {
        await step.run({ signal: AbortSignal.timeout(60_000), output: () => undefined })
      }
    }
    await engine.removeLogs(row.id, AbortSignal.timeout(60_000))
    await forget(row)
    await options.retire(row)
  }

  const forget = async (row: ProjectRow) => {
    await store.transaction(async (tx) => {
      await tx.ports.release(row.id)
      await tx.projects.delete(row.id)
      await tx.events.append({ type: 'project.deleted', project: row.id, data: { id: row.id, slug: row.slug } })
    })
    model.forget(row.id)
    model.touched(row.id)
    await model.settled()
  }

  /** Databases are copied at rest: the original's are stopped for as long as that takes, in its own lane. */
  const copyDataSteps = (row: ProjectRow, operation: OperationRow): readonly WorkStep[] => {
    const original = operation.input.of
    if (typeof original !== 'string') return []
    return [
      {
        id: 'copy-data',
        title: 'Copy databases and kept data',
        run: (context) =>
          options.orchestrator().exclusively(original, async () => {
            const source = await find(original)
            const names = await engine.dataNames(original, context.signal)
            const there = new Set(await engine.dataNames(row.id, context.signal))
            const missing = names.filter((name) => !there.has(name))
            const kept = await store.keptData.of(original)
            await store.transaction(async (tx) => {
              for (const { name, version, keptAt } of kept) {
                await tx.keptData.writtenBy(row.id, name, version)
                if (keptAt !== null) await tx.keptData.setKept(row.id, name, true)
              }
            })
            if (missing.length === 0) return
            const up = (await engine.observe(original, context.signal)).filter((one) => one.state === 'running')
            const running = up.length > 0
            const { unresolved } = (await model.renew(original)).resolved
            const stuck = up.find(({ ref }) => unresolved.includes(ref.workload))
            // Stopped for the copy it would stay down, and copied while it runs its data would be torn.
            if (stuck !== undefined)
              throw new ProblemError(
                'conflict',
                `${stuck.title ?? stuck.ref.workload} of "${source.slug}" runs and could not be started again, so it is not stopped for a copy.`,
                { hint: `Mend what the status of "${source.slug}" says, or stop it yourself; then copy it again.` },
              )
            const change = async (goal: 'running' | 'stopped') => {
              const known = await model.renew(original)
              const observed = await engine.observe(original, context.signal)
              const { workloads: wanted } = known.resolved
              const { changes } = planProject({ wanted, unresolved, observed, goal, keepChanged: true })
              const signal = AbortSignal.timeout(180_000)
              for (const step of engineSteps(engine, changes, options.reveal))
                await step.run({ signal, output: () => undefined })
              await options.orchestrator().observations.refresh(original)
            }
            const comesBack = running && source.desired === 'running'
            try {
              if (comesBack)
                await restartHolds.hold(
                  up.map(({ ref }) => ref),
                  context.signal,
                )
              if (running) await change('stopped')
              try {
                for (const name of missing) await engine.copyData(original, row.id, name, context.signal)
              } finally {
                if (comesBack) await change('running')
              }
            } finally {
              await restartHolds.letGo(original)
            }
          }),
      },
    ]
  }

  const lifecycle = (operation: OperationRow, request: Partial<PlanRequest> & Pick<PlanRequest, 'goal'>): Work => {
    const failures: Failures = []
    const { workload, newerImages, unpinned } = operation.input as LifecycleInput
    const only = workload === undefined ? {} : { only: workload }
    const newer = newerImages === true ? { newerImages } : {}
    return {
      deadlineSeconds: deadlines.long,
      stages: [() => reach(operation.project, failures, { ...request, ...only, ...newer })],
      settle: async (outcome) => {
        if (workload !== undefined && unpinned !== undefined && hasNoImage(outcome))
          await chooseBuild(operation.project, workload, unpinned)
        if (request.goal === 'running') await afterStart(operation.project, failures, workload)(outcome)
        else {
          await options.release(operation.project)
          await finish(operation.project)
        }
      },
    }
  }

  /** Back to the build that was chosen before, for the other one could not be had and nothing was replaced. */
  const chooseBuild = async (project: string, workload: string, { reference, image }: ChosenBuild) =>
    store.transaction((tx) =>
      image === null
        ? tx.images.unpin(project, workload, reference)
        : tx.images.pin(project, { workload, reference, image }),
    )

  const update = (operation: OperationRow): Work => {
    const failures: Failures = []
    const { project } = operation
    const {
      deleteData: doomed = [],
      deleteSecrets = [],
      releasePorts = doomed,
      touches,
    } = operation.input as UpdateInput
    const secretsOf = (data: string) =>
      doomed.length === 1 ? deleteSecrets : deleteSecrets.filter((name) => name.startsWith(serviceSecret(data, '')))
    /** What is known of data goes in the same step: whatever becomes of the rest of the operation. */
    const thenForgotten = (step: WorkStep, data: string): WorkStep => ({
      ...step,
      run: async (context) => {
        await step.run(context)
        await store.transaction(async (tx) => {
          for (const name of secretsOf(data)) await tx.secrets.delete(project, name)
          if (releasePorts.includes(data)) await tx.ports.release(project, data)
          await tx.keptData.delete(project, data)
        })
      },
    })
    return {
      deadlineSeconds: deadlines.long,
      stages: [
        // Data goes first: whether the rest of the project can be started must not decide whether it goes.
        async () => {
          if (doomed.length === 0) return []
          const { resolved } = await model.renew(project)
          const observed = await options.orchestrator().observations.refresh(project)
          const { workloads: wanted, unresolved } = resolved
          const { changes } = planProject({ wanted, unresolved, observed, goal: 'stopped' })
          return removalsOf(changes, project, doomed).flatMap((change) => {
            const steps = watched([change], failures)
            return change.type === 'deleteData' ? steps.map((step) => thenForgotten(step, change.data)) : steps
          })
        },
        async () => {
          const row = await find(project)
          return reach(project, failures, { goal: row.desired, ...(touches === undefined ? {} : { touches }) })
        },
      ],
      settle: async (outcome) => {
        await restartHolds.letGo(project)
        if (outcome.state === 'failed') {
          for (const { ref, error } of failures) {
            options
              .orchestrator()
              .supervisor.gaveUp(ref, messageOf(error), error instanceof EngineError ? error.logTail : [])
          }
        }
        await finish(operation.project)
      },
    }
  }

  const remove = (operation: OperationRow): Work => ({
    deadlineSeconds: deadlines.short,
    stages: [
      // First, so that nothing that people started still uses what is stopped and deleted.
      async () => {
        if (!(await options.runs.holdsAny(operation.project, forever))) return []
        const run: WorkStep['run'] = async ({ signal }) => {
          await options.runs.endAll(operation.project, signal)
          // While their project is there: with it they are gone, and nothing would say that they were closed.
          await options.terminals.settleAll(operation.project)
        }
        return [{ id: 'commands', title: 'End runs and terminals', run }]
      },
      async () => {
        const observed = await options.orchestrator().observations.refresh(operation.project)
        const row = await find(operation.project)
        const strays = straysOf(options.engines.named(row.engine), row.id, { commands: true })
        const { changes } = planProject({ wanted: [], observed, goal: 'stopped', ...strays })
        return engineSteps(engine, changes, options.reveal)
      },
      async () => {
        if (operation.input.data !== 'delete') return []
        const data = await engine.dataNames(operation.project, forever)
        return engineSteps(
          engine,
          data.map((name): Change => ({ type: 'deleteData', project: operation.project, data: name })),
          options.reveal,
        )
      },
    ],
    settle: async (outcome) => {
      const row = await store.projects.find(operation.project)
      if (row === null) return
      if (outcome.state === 'succeeded') {
        // What cannot be removed now is swept by the next start.
        await removeGivenFolder(join(config.home, 'tools', row.id)).catch(() => undefined)
        // What cannot be forgotten now is found to be nobody's by the next start.
        await options.runs.forgetAll(row.id, forever).catch(() => undefined)
        await engine.removeLogs(row.id, AbortSignal.timeout(60_000))
        await forget(row)
        await options.retire(row)
      } else {
        await store.transaction((tx) => tx.projects.setLifecycle(row.id, { phase: 'ready' }))
        await finish(row.id)
      }
    },
  })

  return async (id) => {
    const operation = await store.operations.find(id)
    if (operation === null) throw new ProblemError('not_found', 'The operation is gone.')
    switch (operation.kind) {
      case 'create':
      case 'duplicate':
        return create(operation)
      case 'start':
        return lifecycle(operation, { goal: 'running' })
      case 'restart':
        return lifecycle(operation, { goal: 'running', restart: true })
      case 'stop':
        return lifecycle(operation, { goal: 'stopped' })
      case 'reconcile':
        return lifecycle(operation, { goal: (await find(operation.project)).desired, keepChanged: true })
      case 'update':
        return update(operation)
      case 'delete':
        return remove(operation)
      default:
        return operation.kind satisfies never
    }
  }
}

/**
 * What only starts waits for what it depends on and for nothing else. What replaces something that runs is done one after the
 * other: requests are held meanwhile, and no longer than needed.
 */
function laneOf(change: Change): Pick<WorkStep, 'lane'> {
  if (change.type !== 'start') return {}
  const { ref, dependsOn } = change.workload
  return { lane: { name: ref.workload, after: dependsOn } }
}

/** What the input of a start, a restart or a stop may hold. */
interface LifecycleInput {
  readonly workload?: string
  readonly newerImages?: boolean
  /** The choice of a build that this operation takes the place of. */
  readonly unpinned?: ChosenBuild
}

interface ChosenBuild {
  readonly reference: string
  readonly image: string | null
}

function hasNoImage(outcome: Outcome): boolean {
  if (outcome.state === 'cancelled') return true
  return (
    outcome.state === 'failed' &&
    outcome.error instanceof EngineError &&
    (outcome.error.code === 'image_not_found' || outcome.error.code === 'image_unavailable')
  )
}

/** What the input of an update may hold. */
type UpdateInput = Partial<Removal> & { readonly touches?: readonly string[] }

type Failures = { ref: WorkloadRef; error: unknown }[]

function refOf(change: Change): WorkloadRef | null {
  switch (change.type) {
    case 'start':
    case 'replace':
      return change.workload.ref
    case 'stop':
    case 'remove':
    case 'job':
      return change.ref
    case 'deleteData':
    case 'strays':
      return null
    default:
      return change satisfies never
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
