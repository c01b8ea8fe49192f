import { EngineError, type Exit, exitText, outOfMemoryHint, type Workload } from '@stackquay/engine-api'
import { throwIfAborted } from './errors.ts'
import { family } from './family.ts'
import { locate } from './locate.ts'
import type { Machine } from './machine.ts'
import { observeRecord } from './observe.ts'
import { portInUse, portsOf } from './ports.ts'
import { readRecord } from './record.ts'
import type { RunMonitor } from './run-monitor.ts'
import type { Supervisor } from './supervisor.ts'

export type TailOf = (ref: Workload['ref'], lines: number) => Promise<readonly string[]>

const TAIL_LINES = 20

/** Waits until the workload is healthy by its own check, or says why it is not. A workload that waits for a file is as ready as it can be. */
export async function awaitReady(
  machine: Machine,
  supervisor: Supervisor,
  workload: Workload,
  tail: TailOf,
  signal: AbortSignal,
): Promise<void> {
  const record = await readRecord(machine.home, workload.ref)
  const leader = record === null ? null : locate(machine, record)
  if (record?.phase === 'waiting') return
  if (record === null || leader === null) {
    const observed = record === null ? null : await observeRecord(machine, supervisor, record)
    throw exitedEarly(workload, observed?.lastExit ?? null, await tail(workload.ref, TAIL_LINES))
  }
  const monitor = await supervisor.watchRun(record, leader, null)
  const seconds = workload.health.kind === 'none' ? 0 : workload.health.timeoutSeconds
  const timeout = AbortSignal.timeout(seconds * 1000)
  const wait = AbortSignal.any([signal, timeout])
  for (;;) {
    throwIfAborted(signal)
    const { health, ended, foreign } = monitor.state()
    if (ended !== null) throw exitedEarly(workload, ended, await tail(workload.ref, TAIL_LINES))
    if (health === 'healthy' || health === 'none') return
    if (foreign !== null) throw foreignPort(workload, foreign)
    if (timeout.aborted) throw await neverReady(machine, workload, monitor, seconds, tail)
    await monitor.changed(wait)
  }
}

function foreignPort(
  workload: Workload,
  foreign: NonNullable<ReturnType<RunMonitor['state']>['foreign']>,
): EngineError {
  const { health } = workload
  const binding =
    workload.ports.find((port) => health.kind !== 'none' && port.name === health.port) ?? workload.ports[0]
  if (binding === undefined) throw new TypeError('a foreign port without a port')
  return portInUse(binding, foreign)
}

export function exitedEarly(workload: Workload, exit: Exit | null, logTail: readonly string[]): EngineError {
  const how = exit === null ? 'is not running' : exitText(exit, workload.run)
  return new EngineError('exited_early', `${workload.title} ${how} before it was ready.`, {
    hint: exit?.outOfMemory
      ? outOfMemoryHint
      : logTail.length > 0
        ? 'Its last output says why; correct that and start it again.'
        : `It printed nothing. Try it by hand: ${workload.run.argv.join(' ')}`,
    logTail,
  })
}

async function neverReady(
  machine: Machine,
  workload: Workload,
  monitor: RunMonitor,
  seconds: number,
  tail: TailOf,
): Promise<EngineError> {
  const { health } = workload
  const wanted = workload.ports.find((port) => health.kind !== 'none' && port.name === health.port)
  const listens = portsOf(machine, family(machine.table, monitor.leader))
  return new EngineError(
    'never_ready',
    `${workload.title} was not ready within ${seconds} seconds. ${monitor.state().reason ?? ''}`.trim(),
    {
      hint: readinessHint(wanted?.hostPort, listens),
      logTail: await tail(workload.ref, TAIL_LINES),
      retryable: true,
    },
  )
}

function readinessHint(wanted: number | undefined, listens: readonly number[]): string {
  if (wanted === undefined) return 'Check the health check of the workload.'
  if (listens.includes(wanted)) return 'It listens, but does not answer as expected. See its last output.'
  if (listens.length === 0) return `It listens on no port. Make it listen on port ${wanted}, which it is given as PORT.`
  const others = listens.length === 1 ? `port ${listens[0]}` : `ports ${listens.join(', ')}`
  return `It listens on ${others}. Set "port" to ${listens[0]}, or make it listen on port ${wanted}, which it is given as PORT.`
}
