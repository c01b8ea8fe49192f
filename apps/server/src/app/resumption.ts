import { retireLeft } from '../isolation/retire-left.ts'
import { removeLeftCopies } from '../resume/left-copies.ts'
import { endLeftData, endOrphans, sweepLeftFolders } from '../resume/leftovers.ts'
import { holdInterrupted, resumeOperations } from '../resume/operations.ts'
import { isRestored, sparesUnknown } from '../resume/restored.ts'
import { putUnknownBack, settleItems } from '../trash/settle-items.ts'
import type { Commands } from './commands.ts'
import type { AppContext } from './context.ts'
import type { Instance } from './instance.ts'
import type { Operations } from './operations.ts'
import type { KnownProjects } from './projects.ts'
import type { Resolving } from './resolving.ts'
import type { Sharing } from './sharing.ts'

/** The work of the service that was here before, taken up again. */
export interface Resumption {
  /** Ends when projects were found and what was under way goes on. Rejects when the projects cannot be found. */
  readonly ready: Promise<void>
  isReady(): boolean
  /** Ends with the sweep of left folders that follows `ready`, when it has begun. */
  swept(): Promise<void>
}

interface Resumed {
  readonly instance: Pick<Instance, 'store' | 'engine' | 'isolation'>
  readonly resolving: Pick<Resolving, 'sources'>
  readonly projects: KnownProjects
  readonly commands: Commands
  readonly sharing: Sharing
  readonly operations: Operations
}

export function beginResuming(
  parts: Resumed,
  { config, now, onError, signal }: Pick<AppContext, 'config' | 'now' | 'onError' | 'signal'>,
): Resumption {
  let isReady = false
  let sweeping: Promise<void> = Promise.resolve()
  const { model } = parts.projects
  const { sources } = parts.resolving
  const ready = resume(parts, { config, now, onError }).then(({ spares }) => {
    isReady = true
    if (spares) return
    // Beside everything else: no program that fills what is being removed keeps the service from its work.
    sweeping = sweepLeftFolders({ home: config.home, model, sources, signal, onError })
  })
  ready.catch((error: unknown) => onError(error, 'finding the projects'))
  return { ready, isReady: () => isReady, swept: () => sweeping }
}

async function resume(
  { instance, projects, commands, sharing, operations }: Resumed,
  { config, now, onError }: Pick<AppContext, 'config' | 'now' | 'onError'>,
): Promise<{ readonly spares: boolean }> {
  const { store, engine, isolation } = instance
  const { model, observations, network, passes, routes } = projects
  const { orchestrator, restartHolds } = operations
  const { testEnvironments, runs, terminals } = commands
  const resuming = { store, model, observations, orchestrator }
  const renewWalls = async () =>
    isolation.portWalls?.renew().catch((error: unknown) => onError(error, 'walls around ports'))

  await renewWalls()
  await projects.cron.load()
  await Promise.all([model.load(), network.load(), passes.load()])
  // Before the first look, so that nothing that ends between the two goes unseen.
  orchestrator.watch()
  for (const { row } of model.all()) await lookAt(row.id, observations)
  await holdInterrupted({ ...resuming, restartHolds })
  projects.lookedAt()
  // Now, not after all that is taken up: what was deleted while nobody looked would still have an address.
  void routes.publishAll()
  const trash = { store, engine, config, now }
  if (await isRestored(store)) await putUnknownBack(trash, onError)
  await settleItems(trash, onError)
  await resumeOperations(resuming)
  const spares = await sparesUnknown({ store, model }, engine.all)
  if (!spares) {
    await endOrphans(model, engine.all)
    await retireLeft(isolation.users, store).catch((error: unknown) => onError(error, 'taking users away'))
    await endLeftData({ store, testEnvironments, onError })
    await removeLeftCopies({ store, model, engine, onError })
  }
  // From here on it is known which ports the runs have that go on.
  await renewWalls()
  await runs.resume({ sweeps: !spares })
  await terminals.resume()
  await sharing.shares.resume()
  for (const { row } of model.all()) model.touched(row.id)
  await routes.publishAll()
  return { spares }
}

/** One whose engine does not answer shows that; it is looked at again when it does. */
async function lookAt(project: string, observations: KnownProjects['observations']): Promise<void> {
  await observations.refresh(project).catch((error: unknown) => {
    if (observations.unknown(project) === null) throw error
  })
}
