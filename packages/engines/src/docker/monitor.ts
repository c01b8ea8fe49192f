import type { Exit, Observed, WorkloadRef } from '@stackquay/engine-api'
import { pace, watchChecks } from '../native/health-watch.ts'
import { ownAddress } from './address.ts'
import type { Daemon } from './daemon.ts'
import type { FoundContainer } from './find.ts'
import { healthChecker } from './health.ts'
import type { Description } from './record.ts'

/** Watches one living run: its health, and what is reported of its end. */
export interface RunMonitor {
  readonly ref: WorkloadRef
  readonly id: string
  /** Of its first process, as Docker's machine numbers it. */
  readonly pid: number
  readonly description: Description
  /** Where one of its ports is reached; null for one that it does not have. */
  address(port: string): { readonly host: string; readonly port: number } | null
  readonly state: () => RunState
  /** Resolves when the state becomes another one, or the signal aborts. */
  changed(signal: AbortSignal): Promise<void>
  /** After the first health check. */
  readonly checked: Promise<void>
  end(exit: Exit): void
  close(): void
}

export interface RunState {
  readonly health: Observed['health']
  readonly reason: string | null
  readonly ended: Exit | null
}

export interface HealthListener {
  healthy(ref: WorkloadRef): void
  unhealthy(ref: WorkloadRef, reason: string): void
}

export function monitorRun(
  daemon: Daemon,
  found: FoundContainer & { readonly description: Description },
  listener: HealthListener,
): RunMonitor {
  const { ref, id, description, info } = found
  const { health } = description
  const stopped = new AbortController()
  const wasHealthy = health.kind !== 'none' && isGrownUp(daemon, info.State.StartedAt, health.timeoutSeconds)
  let state: RunState = { health: health.kind === 'none' ? 'none' : 'starting', reason: null, ended: null }
  let change = Promise.withResolvers<void>()
  const become = (next: Partial<RunState>) => {
    state = { ...state, ...next }
    change.resolve()
    change = Promise.withResolvers<void>()
  }
  const close = () => stopped.abort()

  const checked =
    health.kind === 'none'
      ? Promise.resolve()
      : watchChecks(
          { ...pace(health), wasHealthy, check: healthChecker(daemon, info, description, health) },
          stopped.signal,
          (result) => {
            const before = state.health
            const next = result.ok ? 'healthy' : before === 'starting' && !wasHealthy ? 'starting' : 'unhealthy'
            const reason = result.ok ? null : result.reason
            if (next === before && reason === state.reason) return
            become({ health: next, reason })
            if (next === 'healthy' && before !== 'healthy') listener.healthy(ref)
            if (next === 'unhealthy' && before !== 'unhealthy') listener.unhealthy(ref, reason ?? '')
          },
        )
  return {
    ref,
    id,
    pid: info.State.Pid,
    description,
    address(name) {
      const binding = description.ports.find((one) => one.name === name)
      if (binding === undefined) return null
      const own = ownAddress(daemon, info)
      return own === null ? { host: daemon.host, port: binding.hostPort } : { host: own, port: binding.port }
    },
    state: () => state,
    checked,
    async changed(signal) {
      const aborted = Promise.withResolvers<void>()
      const onAbort = () => aborted.resolve()
      signal.addEventListener('abort', onAbort, { once: true })
      if (signal.aborted) onAbort()
      await Promise.race([change.promise, aborted.promise])
      signal.removeEventListener('abort', onAbort)
    },
    end(exit) {
      close()
      become({ ended: exit })
    },
    close,
  }
}

/** A run that is older than its start may take counts as one that was healthy: no other record says whether it was. */
function isGrownUp(daemon: Daemon, startedAt: string, seconds: number): boolean {
  const age = daemon.now().getTime() - Date.parse(startedAt)
  return age > seconds * 1000
}
