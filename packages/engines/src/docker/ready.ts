import { EngineError, type Workload } from '@stackquay/engine-api'
import { throwIfAborted } from '../native/errors.ts'
import { exitedEarly } from '../native/ready.ts'
import { exitOfContainer, isRunning } from './exit.ts'
import { type FoundContainer, findContainer } from './find.ts'
import { isLoopback, listeningInside } from './health.ts'
import type { DockerMachine } from './machine.ts'
import { readRecord } from './record.ts'

const TAIL_LINES = 20

/** Waits until the workload is healthy by its own check, or says why it is not. A workload that waits for a file is as ready as it can be. */
export async function awaitReady(machine: DockerMachine, workload: Workload, signal: AbortSignal): Promise<void> {
  const { daemon } = machine
  const { ref } = workload
  const found = await findContainer(daemon, ref)
  if (found === null || !isRunning(found.info)) {
    const record = await readRecord(daemon.home, ref)
    if (found === null && record?.phase === 'waiting') return
    throw exitedEarly(
      workload,
      found === null ? null : exitOfContainer(found.info),
      await lastLines(machine, ref, signal),
    )
  }
  const { description } = found
  if (description === null) return
  const monitor = machine.supervisor.watchRun({ ...found, description })
  const seconds = workload.health.kind === 'none' ? 0 : workload.health.timeoutSeconds
  const timeout = AbortSignal.timeout(seconds * 1000)
  const wait = AbortSignal.any([signal, timeout])
  for (;;) {
    throwIfAborted(signal)
    const { health, ended, reason } = monitor.state()
    if (ended !== null) throw exitedEarly(workload, ended, await lastLines(machine, ref, signal))
    if (health === 'healthy' || health === 'none') return
    if (timeout.aborted) throw await neverReady(machine, workload, found, seconds, reason)
    await monitor.changed(wait)
  }
}

/** The output of an ended container is complete before its end is reported. */
async function lastLines(
  machine: DockerMachine,
  ref: Workload['ref'],
  signal: AbortSignal,
): Promise<readonly string[]> {
  await machine.logs.drained(ref, signal)
  return machine.logs.tail(ref, TAIL_LINES)
}

async function neverReady(
  machine: DockerMachine,
  workload: Workload,
  found: FoundContainer,
  seconds: number,
  reason: string | null,
): Promise<EngineError> {
  const { health } = workload
  const wanted = workload.ports.find((port) => health.kind !== 'none' && port.name === health.port)
  return new EngineError(
    'never_ready',
    `${workload.title} was not ready within ${seconds} seconds. ${reason ?? ''}`.trim(),
    {
      hint: readinessHint(machine, found, wanted?.port),
      logTail: await machine.logs.tail(workload.ref, TAIL_LINES),
      retryable: true,
    },
  )
}

function readinessHint(machine: DockerMachine, found: FoundContainer, wanted: number | undefined): string {
  if (wanted === undefined) return 'Check the health check of the workload.'
  const sockets = listeningInside(machine.daemon, found.info)
  if (sockets === null) return `Make it listen on port ${wanted} of all addresses (0.0.0.0), and see its last output.`
  const own = sockets.filter(({ port }) => port === wanted)
  if (own.length > 0 && own.every(({ address }) => isLoopback(address)))
    return `Make it listen on all addresses (0.0.0.0) instead of ${own[0]?.address}: it is reached from outside of its container.`
  if (own.length > 0) return 'It listens, but does not answer as expected. See its last output.'
  const others = [...new Set(sockets.map(({ port }) => port))].sort((a, b) => a - b)
  if (others.length === 0) return `It listens on no port. Make it listen on port ${wanted}.`
  return `It listens on ${others.length === 1 ? 'port' : 'ports'} ${others.join(', ')}. Make it listen on port ${wanted}.`
}
