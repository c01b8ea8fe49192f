import { ProblemError } from '@stackquay/contract'
import type { SecretRef } from '@stackquay/engine-api'
import type { Accounts, UserFiles } from '@stackquay/engines'
import type { ProjectQueues, Watches } from '@stackquay/orchestrator'
import type { ProjectRow, Store, TrashItem } from '@stackquay/store'
import type { Backups } from '../backups/open-backups.ts'
import type { Config } from '../config.ts'
import type { ReceivedDumps } from '../dumps/received-dumps.ts'
import type { Repositories } from '../git/repository.ts'
import type { Provision } from '../isolation/provision.ts'
import type { Network } from '../network/network.ts'
import type { ChangeDeps } from '../projects/change-project.ts'
import type { FilesOf } from '../projects/files-of.ts'
import type { RestartHolds } from '../projects/restart-holds.ts'
import type { Sources } from '../projects/sources.ts'
import type { ProxyKeeper } from '../proxy-keeper.ts'
import type { Runs } from '../runs/runs.ts'
import type { TestEnvironments } from '../runs/test-environments.ts'
import type { NetworkHalf } from '../source/git-home.ts'
import type { Terminals } from '../terminals/terminals.ts'
import { trashEvent } from '../trash/trash-view.ts'

/** What operations work with. */
export interface OperationDeps extends Omit<ChangeDeps, 'orchestrator'> {
  readonly queues: ProjectQueues
  readonly watches: Watches
  readonly sources: Sources
  readonly config: Config
  readonly accounts: Accounts
  readonly provision: Provision
  /** Ends what acts as the project's user for the service. */
  release(project: string): Promise<void>
  /** Of a project that is gone: takes its access to a folder of somebody else away. */
  leave(project: Pick<ProjectRow, 'id' | 'path'>): Promise<void>
  /** The same, and its user. */
  retire(project: Pick<ProjectRow, 'id' | 'path'>): Promise<void>
  readonly filesOf: FilesOf
  readonly files: Pick<UserFiles, 'of'>
  readonly repositories: Repositories
  readonly gitHalf: NetworkHalf
  readonly runs: Pick<Runs, 'holdsAny' | 'endAll' | 'forgetAll'>
  readonly terminals: Pick<Terminals, 'settleAll'>
  readonly restartHolds: RestartHolds
  /** How projects were used through the proxy; undefined when it does not say. */
  readonly proxyUses: ProxyKeeper['uses']
  readonly backups: Backups
  readonly receivedDumps: ReceivedDumps
  /** Where restore drills start copies. */
  readonly testEnvironments: Pick<TestEnvironments, 'bringUp' | 'closeLeft'>
  readonly network: Network
  readonly now: () => Date
  reveal(ref: SecretRef): Promise<string>
  /** The operation brings the project to this specification. It is written down when the operation is. */
  carries(operation: string, row: ProjectRow): void
}

/**
 * Seconds an operation may take: installing dependencies and cloning are the long parts; of a backup, how much data there is, and of a copy of it,
 * how slow the line is.
 */
export const deadlines = { week: 7 * 24 * 60 * 60, day: 24 * 60 * 60, long: 30 * 60, short: 5 * 60 } as const

/** For what an operation does not end early: cancelling is asked between its steps. */
export const forever = new AbortController().signal

/** Throws `not_found` for a project that was deleted meanwhile. */
export async function findProject(store: Store, id: string): Promise<ProjectRow> {
  const row = await store.projects.find(id)
  if (row === null) throw new ProblemError('not_found', 'The project is gone.')
  return row
}

/**
 * The status and the routes are right when the operation is reported as ended. `asKnown`: it changed nothing that the project resolves
 * by; then it is resolved again only where the row is another one than it was gathered from.
 */
export async function finish(
  project: string,
  { model, store }: Pick<OperationDeps, 'model' | 'store'>,
  { asKnown = false }: { readonly asKnown?: boolean } = {},
): Promise<void> {
  const revision = asKnown ? (await store.projects.find(project))?.revision : undefined
  if (revision === undefined || model.find(project)?.row.revision !== revision) await model.renew(project)
  await model.published(project)
}

/** Nothing is known of the project any more, but to the trash. */
export async function forgetProject(
  row: ProjectRow,
  { store, model }: OperationDeps,
  item: TrashItem | undefined = undefined,
): Promise<void> {
  await store.transaction(async (tx) => {
    if (item === undefined) {
      await tx.ports.release(row.id)
      await tx.projects.delete(row.id)
    } else {
      await tx.trash.takeProject(item.id)
      await tx.events.append(trashEvent(item, 'deleted'))
    }
    await tx.events.append({ type: 'project.deleted', project: row.id, data: { id: row.id, slug: row.slug } })
  })
  model.forget(row.id)
  model.touched(row.id)
  await model.settled()
}
