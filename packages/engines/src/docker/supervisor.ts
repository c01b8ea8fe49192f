import type { EngineEvent, Exit, WorkloadRef } from '@stackquay/engine-api'
import { createWaits, keyOf } from '../native/waits.ts'
import type { Daemon } from './daemon.ts'
import { orAbsent } from './errors.ts'
import { followEvents } from './events.ts'
import { exitOfContainer, isRunning } from './exit.ts'
import { type FoundContainer, findContainers } from './find.ts'
import { monitorRun, type RunMonitor } from './monitor.ts'
import { enterNetworks, forgetRanges, removeNetwork, removeUnusedNetworks } from './networks.ts'
import { type Description, type RunRecord, readRecord } from './record.ts'

/** Knows which containers of workloads live, watches them, and reports how they end. */
export interface Supervisor {
  /** Watches a run that lives, once; answers its monitor. */
  watchRun(found: FoundContainer & { readonly description: Description }): RunMonitor
  watchWaiting(record: RunRecord): void
  monitor(ref: WorkloadRef): RunMonitor | null
  monitors(): readonly RunMonitor[]
  /** Stops watching: the caller is about to end it or has ended it. */
  release(ref: WorkloadRef): void
  close(): Promise<void>
}

/** `seen`: containers that live, each time Docker was found again. */
export function createSupervisor(
  daemon: Daemon,
  emit: (event: EngineEvent) => void,
  seen: (containers: readonly FoundContainer[]) => Promise<void>,
): Supervisor {
  const runs = new Map<string, RunMonitor>()
  const waits = createWaits()
  const closing = new AbortController()
  const listener = {
    healthy: (ref: WorkloadRef) => emit({ type: 'healthy', ref }),
    unhealthy: (ref: WorkloadRef, reason: string) => emit({ type: 'unhealthy', ref, reason }),
  }

  /** A container of which Docker said that it ended, or that is gone. */
  async function settle(id: string): Promise<void> {
    const monitor = [...runs.values()].find((run) => run.id === id)
    if (monitor === undefined || closing.signal.aborted) return
    const info = await orAbsent(daemon.docker.getContainer(id).inspect())
    if (info !== null && isRunning(info)) return
    if (runs.get(keyOf(monitor.ref)) !== monitor) return
    const record = await readRecord(daemon.home, monitor.ref)
    if (runs.get(keyOf(monitor.ref)) !== monitor || closing.signal.aborted) return
    const exit = (info === null ? null : exitOfContainer(info)) ?? unknownExit(daemon)
    runs.delete(keyOf(monitor.ref))
    monitor.end(exit)
    if (!wasWanted(record, id)) emit({ type: 'exited', ref: monitor.ref, exit })
  }

  const following = followEvents(
    daemon,
    {
      ended: settle,
      removed: (project) => removeNetwork(daemon, project),
      lost: (reason) => emit({ type: 'unreachable', reason }),
      found: () => emit({ type: 'reachable' }),
      /** Finds what was missed meanwhile. */
      async connected() {
        forgetRanges(daemon)
        await enterNetworks(daemon)
        const found = await findContainers(daemon)
        for (const { id } of [...runs.values()]) await settle(id)
        await seen(found)
        await removeUnusedNetworks(daemon)
      },
    },
    closing.signal,
  )

  return {
    watchRun(found) {
      const id = keyOf(found.ref)
      waits.stop(found.ref)
      const before = runs.get(id)
      if (before?.id === found.id) return before
      before?.close()
      const made = monitorRun(daemon, found, listener)
      runs.set(id, made)
      if (closing.signal.aborted) made.close()
      // It may have ended before it was watched. What cannot be asked now is asked when Docker is back.
      else void settle(found.id).catch(() => {})
      return made
    },
    watchWaiting: ({ ref, description: { requires } }) =>
      waits.watch(ref, null, requires, () => emit({ type: 'unblocked', ref })),
    monitor: (ref) => runs.get(keyOf(ref)) ?? null,
    monitors: () => [...runs.values()],
    release(ref) {
      const id = keyOf(ref)
      waits.stop(ref)
      runs.get(id)?.close()
      runs.delete(id)
    },
    async close() {
      closing.abort()
      waits.close()
      for (const run of runs.values()) run.close()
      await following
    },
  }
}

function unknownExit(daemon: Daemon): Exit {
  return { code: null, signal: null, at: daemon.now().toISOString() }
}

/** Whether the engine ended that container on purpose. */
export function wasWanted(record: RunRecord | null, container: string): boolean {
  return record?.container === container && (record.phase === 'stopping' || record.phase === 'stopped')
}
