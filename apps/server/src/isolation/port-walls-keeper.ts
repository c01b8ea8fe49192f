import { EngineError } from '@stackquay/engine-api'
import type { Accounts, PortRule, PortWalls } from '@stackquay/engines'
import type { Store } from '@stackquay/store'
import { isTestEnvironment, projectOfEnvironment } from '../test-environment-id.ts'

/** Keeps the walls around ports as leases and users of projects are. */
export interface PortWallsKeeper {
  /** Resolves when the walls are as the leases and users of this moment. Rejects with an `EngineError` that says why they are not. */
  renew(): Promise<void>
  /**
   * Before a program of the project starts: the same where something changed or failed since the last time, nothing otherwise. `project` may be
   * the id of a test run, whose services run as the project's user.
   */
  ready(project: string): Promise<void>
  /** Why the walls are not as they should be; null when they are. For diagnostics. */
  fault(): string | null
  /** Ends the watching. The walls stay, like the projects. */
  close(): Promise<void>
}

export interface PortWallsKeeperDeps {
  readonly store: {
    readonly ports: Pick<Store['ports'], 'all'>
    readonly runs: Pick<Store['runs'], 'find'>
    readonly operations: Pick<Store['operations'], 'find'>
    onLeases: Store['onLeases']
  }
  readonly accounts: Pick<Accounts, 'known' | 'all'>
  readonly walls: PortWalls
  /** Ports of services that exist for one test run. */
  runPorts(): readonly { readonly run: string; readonly port: number }[]
  onError(error: unknown, what: string): void
  /** How often walls are written though nothing changed: another program may have flushed the whole firewall. */
  readonly againMs?: number
}

const usualAgainMs = 60_000

/** Sets the walls anew once `renew` is called for the first time, which the start of the service does before any project starts. */
export function createPortWallsKeeper(deps: PortWallsKeeperDeps): PortWallsKeeper {
  const { store, walls, accounts } = deps
  let inForce: InForce | null = null
  let changes = 0
  let begun = false
  let running: Promise<void> | null = null
  let next: Promise<void> | null = null

  /** One at a time, so that what was read first is never written last. */
  const write = async () => {
    const change = changes
    const ofRuns = runPortsText(deps)
    inForce = null
    try {
      const { rules, uids } = await rulesNow(deps)
      const users = accounts.all().map(({ account }) => account.uid)
      await walls.set(rules, users)
      inForce = { change, ofRuns, uids, users: new Set(users) }
    } catch (error) {
      throw asEngineError(error)
    }
  }
  const run = () => {
    begun = true
    running = write().finally(() => {
      running = null
    })
    return running
  }
  const renew = (): Promise<void> => {
    if (next !== null) return next
    if (running === null) return run()
    next = running
      .catch(() => {})
      .then(() => {
        next = null
        return run()
      })
    return next
  }
  // A failure of `set` is reported where the walls were opened.
  const renewInBackground = () =>
    void renew().catch((error: unknown) => {
      if (walls.fault() === null) deps.onError(error, 'reading the leases of ports')
    })
  const stopListening = store.onLeases(() => {
    changes += 1
    if (begun) renewInBackground()
  })
  const timer = setInterval(() => begun && renewInBackground(), deps.againMs ?? usualAgainMs).unref()

  return {
    renew,
    async ready(project) {
      const owner = await ownerOf(project, store)
      const uid = accounts.known(owner)?.uid ?? null
      const isCurrent =
        inForce !== null &&
        inForce.change === changes &&
        inForce.ofRuns === runPortsText(deps) &&
        (uid === null || inForce.users.has(uid)) &&
        (!inForce.uids.has(owner) || inForce.uids.get(owner) === uid)
      if (!isCurrent) await renew()
    },
    fault: walls.fault,
    async close() {
      stopListening()
      clearInterval(timer)
      while (running !== null) await running.catch(() => {})
      await walls.close()
    },
  }
}

interface InForce {
  /** The number of changes of leases that were known. */
  readonly change: number
  readonly ofRuns: string
  /** By project, of those that have ports. */
  readonly uids: ReadonlyMap<string, number | null>
  /** Users of projects that the walls concern. */
  readonly users: ReadonlySet<number>
}

function runPortsText({ runPorts }: PortWallsKeeperDeps): string {
  return runPorts()
    .map(({ run, port }) => `${run} ${port}`)
    .join()
}

async function rulesNow({
  store,
  accounts,
  runPorts,
}: PortWallsKeeperDeps): Promise<{ rules: readonly PortRule[]; uids: ReadonlyMap<string, number | null> }> {
  const leases = await store.ports.all()
  const ofRuns = await Promise.all(
    runPorts().map(async ({ run, port }) => ({ project: await ownerOf(run, store), hostPort: port })),
  )
  const all = [...leases, ...ofRuns]
  const uids = new Map(all.map(({ project }) => [project, accounts.known(project)?.uid ?? null]))
  return { rules: all.map(({ project, hostPort }) => ({ port: hostPort, uid: uids.get(project) ?? null })), uids }
}

/** A run that is not stored belongs to no project: its ports are no project's. */
async function ownerOf(id: string, store: PortWallsKeeperDeps['store']): Promise<string> {
  return isTestEnvironment(id) ? ((await projectOfEnvironment(id, store)) ?? id) : id
}

function asEngineError(error: unknown): EngineError {
  return new EngineError(
    'engine_unavailable',
    `The ports of projects cannot be kept apart: ${error instanceof Error ? error.message : String(error)}.`,
    {
      hint: 'Repair the firewall of this machine (nft list ruleset), then start the project again. Diagnostics show when it works.',
      retryable: true,
    },
  )
}
