import type { Exit, StopPolicy, WorkloadRef } from '@stackquay/engine-api'
import type Dockerode from 'dockerode'
import { throwIfAborted } from '../native/errors.ts'
import { lockFile } from '../native/home.ts'
import { withLockFile } from '../native/lock.ts'
import { pause } from '../native/time.ts'
import type { Daemon } from './daemon.ts'
import { orAbsent, statusOf } from './errors.ts'
import { exitOfContainer, isRunning } from './exit.ts'
import { type FoundContainer, findContainer } from './find.ts'
import type { DockerMachine } from './machine.ts'
import { type Description, type RunRecord, readRecord, writeRecord } from './record.ts'

/** Runs `act` while no other caller changes this workload, in this process or in another one over the same home. */
export function withLock<T>(daemon: Daemon, ref: WorkloadRef, signal: AbortSignal, act: () => Promise<T>): Promise<T> {
  return withLockFile(daemon.table, lockFile(daemon.home, ref), signal, act)
}

/** Ends a workload and everything in its container, which stays, as do kept data and logs. */
export async function stopWorkload(
  machine: DockerMachine,
  ref: WorkloadRef,
  stop: StopPolicy,
  signal: AbortSignal,
): Promise<void> {
  await withLock(machine.daemon, ref, signal, () => stopLocked(machine, ref, stop, signal))
}

/** The caller holds the lock. `stop` null: as it was started with. */
export async function stopLocked(
  machine: DockerMachine,
  ref: WorkloadRef,
  stop: StopPolicy | null,
  signal: AbortSignal,
): Promise<void> {
  const [found, record] = await Promise.all([findContainer(machine.daemon, ref), readRecord(machine.daemon.home, ref)])
  if (found !== null) return endRun(machine, found, record, stop, signal)
  machine.supervisor.release(ref)
  if (record !== null && record.phase !== 'stopped') {
    await writeRecord(machine.daemon.home, { ...record, phase: 'stopped', since: machine.daemon.now().toISOString() })
  }
}

const SUDDEN: StopPolicy = { signal: 'SIGTERM', deadlineSeconds: 1 }

/** The record says `stopping` before the first signal: an end that comes from us is never taken for a crash. */
export async function endRun(
  machine: DockerMachine,
  found: FoundContainer,
  record: RunRecord | null,
  stop: StopPolicy | null,
  signal: AbortSignal,
): Promise<void> {
  const { ref, id } = found
  const { daemon } = machine
  const description = found.description ?? record?.description ?? unknown(found)
  const note = (phase: RunRecord['phase'], lastExit: Exit | null): Promise<void> =>
    writeRecord(daemon.home, {
      version: 1,
      ref,
      phase,
      since: daemon.now().toISOString(),
      container: id,
      description,
      lastExit,
    })
  // One that ended by itself before stays so: only its restart is not wanted any more.
  if (isRunning(found.info)) {
    if (record?.container !== id || record.phase !== 'stopping') await note('stopping', description.lastExit)
    await endContainer(daemon.docker.getContainer(id), stop ?? found.description?.stop ?? SUDDEN, signal)
  }
  machine.supervisor.release(ref)
  if (record?.container === id && record.phase === 'stopped' && !isRunning(found.info)) return
  const after = await orAbsent(daemon.docker.getContainer(id).inspect())
  await note('stopped', after === null ? description.lastExit : exitOfContainer(after))
}

/**
 * The signal to the program, which its init passes on; SIGKILL to all that is in the container at the deadline. When the
 * caller gives up, the program has had its signal, and ends or not.
 */
export async function endContainer(
  container: Dockerode.Container,
  policy: StopPolicy,
  signal: AbortSignal,
): Promise<void> {
  throwIfAborted(signal)
  const over = new AbortController()
  const ended = container.wait({ abortSignal: over.signal }).then(
    () => true,
    (error: unknown) => {
      if (statusOf(error) === 404) return true
      // A daemon that went away did not say that it ended.
      throw error
    },
  )
  ended.catch(() => {})
  await kill(container, policy.signal)
  const deadline = new AbortController()
  const waiting = AbortSignal.any([deadline.signal, signal])
  const isOver = await Promise.race([ended, pause(policy.deadlineSeconds * 1000, waiting).then(() => false)])
  deadline.abort()
  if (signal.aborted) over.abort()
  throwIfAborted(signal)
  if (!isOver) await kill(container, 'SIGKILL')
  await ended
}

/** One that is not there, or does not run, has ended. */
export async function kill(container: Dockerode.Container, signal: NodeJS.Signals): Promise<void> {
  await container.kill({ signal }).catch((error: unknown) => {
    if (statusOf(error) !== 404 && statusOf(error) !== 409) throw error
  })
}

function unknown({ ref, info }: FoundContainer): Description {
  return {
    fingerprint: '',
    title: ref.workload,
    stop: SUDDEN,
    dependsOn: [],
    health: { kind: 'none' },
    ports: [],
    requires: [],
    image: info.Config.Image,
    lastExit: null,
  }
}
