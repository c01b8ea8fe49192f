import { type ApplyContext, type Container, EngineError, type Workload } from '@stackquay/engine-api'
import type Dockerode from 'dockerode'
import { throwIfAborted } from '../native/errors.ts'
import { missingFile } from '../native/waiting.ts'
import { createContainer, discard } from './create-container.ts'
import { messageOf } from './errors.ts'
import { isRunning, observedExit } from './exit.ts'
import { containerName, type FoundContainer, findContainer } from './find.ts'
import { chosenImage } from './images.ts'
import { DESCRIPTION, WORKLOAD } from './labels.ts'
import type { DockerMachine } from './machine.ts'
import { inNetwork } from './networks.ts'
import { asPortError, checkPorts } from './ports.ts'
import { describe, type RunRecord, readRecord, writeRecord } from './record.ts'
import { endRun, withLock } from './stop.ts'

/** Starts a workload, unless it runs in this very form already. Never are there two containers of one workload. */
export async function startWorkload(
  machine: DockerMachine,
  workload: Workload,
  newerImage: boolean,
  context: ApplyContext,
): Promise<void> {
  const { daemon } = machine
  const { ref } = workload
  const container = containerOf(workload)
  await withLock(daemon, ref, context.signal, async () => {
    const [found, record] = await Promise.all([findContainer(daemon, ref), readRecord(daemon.home, ref)])
    const image = await chosenImage(daemon, ref, container.image)
    if (
      found !== null &&
      (await runsAlready(machine, workload, found, record, newerImage ? image : null, context.signal))
    )
      return
    if (await mustWait(machine, workload, found, record)) return

    if (found !== null) await forget(machine, found, context.signal)
    await checkPorts(daemon, workload.ports)
    throwIfAborted(context.signal)
    const lastExit = observedExit(found, record)
    await startContainer(machine, { ...workload, run: { ...workload.run, container } }, image, lastExit, context)
  })
}

/** Equal fingerprint, and the build of the image that is wanted: done. Otherwise the old form is ended first. */
async function runsAlready(
  machine: DockerMachine,
  workload: Workload,
  found: FoundContainer,
  record: RunRecord | null,
  wantedBuild: string | null,
  signal: AbortSignal,
): Promise<boolean> {
  if (!isRunning(found.info)) return false
  const isStopping = record?.container === found.id && record.phase === 'stopping'
  const isOtherBuild = wantedBuild !== null && wantedBuild !== found.info.Image
  if (found.description?.fingerprint !== workload.fingerprint || isStopping || isOtherBuild) {
    await endRun(machine, found, record, null, signal)
    return false
  }
  machine.supervisor.watchRun({ ...found, description: found.description })
  return true
}

async function mustWait(
  machine: DockerMachine,
  workload: Workload,
  found: FoundContainer | null,
  before: RunRecord | null,
): Promise<boolean> {
  if ((await missingFile(null, workload.requires)) === null) return false
  const { daemon, supervisor } = machine
  supervisor.release(workload.ref)
  if (found !== null) await forget(machine, found, new AbortController().signal)
  const lastExit = observedExit(found, before)
  const record: RunRecord = {
    version: 1,
    ref: workload.ref,
    phase: 'waiting',
    since: daemon.now().toISOString(),
    container: null,
    description: describe(workload, containerOf(workload).image, lastExit),
    lastExit,
  }
  await writeRecord(daemon.home, record)
  supervisor.watchWaiting(record)
  return true
}

/** Removes the container of an earlier run, once all that it printed is kept. */
export async function forget(machine: DockerMachine, found: FoundContainer, signal: AbortSignal): Promise<void> {
  machine.supervisor.release(found.ref)
  await machine.logs.drained(found.ref, signal)
  throwIfAborted(signal)
  await discard(machine.daemon.docker.getContainer(found.id))
}

async function startContainer(
  machine: DockerMachine,
  workload: Workload & { readonly run: { readonly container: Container } },
  image: string | null,
  lastExit: RunRecord['lastExit'],
  context: ApplyContext,
): Promise<void> {
  const { daemon } = machine
  const { ref, run, data, env, ports } = workload
  const description = describe(workload, run.container.image, lastExit)
  const made = await createContainer(daemon, {
    name: containerName(daemon, ref),
    project: ref.project,
    role: 'workload',
    labels: { [WORKLOAD]: ref.workload, [DESCRIPTION]: JSON.stringify(description) },
    argv: run.argv,
    cwd: run.cwd,
    env,
    data,
    container: withDataOf(workload),
    ...(image === null ? {} : { image }),
    alias: ref.workload,
    terminal: false,
    stdin: false,
    ports,
    reveal: context.reveal,
  })
  try {
    throwIfAborted(context.signal)
    const since = daemon.now().toISOString()
    await writeRecord(daemon.home, {
      version: 1,
      ref,
      phase: 'started',
      since,
      container: made.id,
      description,
      lastExit,
    })
    await start(machine, made, workload)
  } catch (error) {
    await discard(made)
    const since = daemon.now().toISOString()
    await writeRecord(daemon.home, { version: 1, ref, phase: 'stopped', since, container: null, description, lastExit })
    throw error
  }
  await machine.logs.started(ref, made.id)
  const found = await findContainer(daemon, ref)
  if (found === null) return
  machine.emit({ type: 'started', ref, pid: found.info.State.Pid })
  machine.supervisor.watchRun({ ...found, description })
}

async function start(machine: DockerMachine, made: Dockerode.Container, workload: Workload): Promise<void> {
  try {
    await inNetwork(machine.daemon, containerOf(workload).network, () => made.start())
  } catch (error) {
    throw programError(await asPortError(machine.daemon, workload.ports, error))
  }
}

/** Errors that only the start finds, for example in a folder that cannot be entered. */
export function programError(error: unknown): unknown {
  const message = messageOf(error)
  if (!/OCI runtime create failed|exec format error|executable file not found/i.test(message)) return error
  if (!/no such file or directory|exec format error|not found|permission denied/i.test(message)) return error
  return new EngineError('program_not_found', `The program could not be started: ${message}`, {
    hint: 'Check that the program and its working directory exist in the image and may be entered.',
    cause: error,
  })
}

/** Only the data that the workload says it has: the spec for its image knows more places. */
function withDataOf(workload: Workload): Container {
  const container = containerOf(workload)
  const names = new Set(workload.data.map((mount) => mount.name))
  return { ...container, data: Object.fromEntries(Object.entries(container.data).filter(([name]) => names.has(name))) }
}

export function containerOf({ run }: Pick<Workload, 'run'>): Container {
  if (run.container !== undefined) return run.container
  throw new EngineError('engine_cannot', 'This engine runs images, and was given a program without one.', {
    hint: 'Move the project to an engine that runs programs of its machine.',
  })
}
