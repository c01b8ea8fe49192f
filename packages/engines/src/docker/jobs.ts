import { createHash } from 'node:crypto'
import { type ApplyContext, EngineError, type Job, type WorkloadRef } from '@stackquay/engine-api'
import type Dockerode from 'dockerode'
import { throwIfAborted } from '../native/errors.ts'
import { safe } from '../native/home.ts'
import { contentHash, isMade, jobFingerprint, readStamp, removeStamp, writeStamp } from '../native/job-stamp.ts'
import { contentHashInside, isMadeInside } from './archive.ts'
import { createContainer, discard } from './create-container.ts'
import type { Daemon } from './daemon.ts'
import { expandText } from './environment.ts'
import { orAbsent } from './errors.ts'
import { chosenImage } from './images.ts'
import { type PlacedJob, runJobContainer } from './job-container.ts'
import { isManaged, JOB, objectName, WORKLOAD } from './labels.ts'
import type { DockerMachine } from './machine.ts'
import { containerOf } from './start.ts'
import { withLock } from './stop.ts'

interface JobStep {
  readonly ref: WorkloadRef
  readonly job: Job
  readonly force: boolean
}

/** Runs a job in a container of its own, unless its work is done already. One that a crash cut off is ended, cleaned up after, and run again. */
export async function runJob(machine: DockerMachine, step: JobStep, context: ApplyContext): Promise<void> {
  const { daemon } = machine
  const { ref } = step
  safe(step.job.name)
  await withLock(daemon, ref, context.signal, async () => {
    const job = placed(step.job)
    await using inside = look(machine, ref, job, context)
    await endEarlierRun(daemon, inside, ref, job, context)
    const fingerprint = await fingerprintOf(step.job, job, inside)
    if (await isDone(daemon, inside, ref, job, fingerprint, step.force)) return

    const stamp = (phase: 'running' | 'done') =>
      writeStamp(daemon.home, ref, job.name, { phase, fingerprint, at: daemon.now().toISOString() })
    await stamp('running')
    try {
      await runJobContainer(machine, ref, job, await inside.container(), context)
      await checkMade(inside, job)
    } catch (error) {
      await cleanUp(daemon, inside, ref, job, context)
      throw error
    }
    await stamp('done')
  })
}

/** The job with the places of kept data filled in. */
function placed(job: Job): PlacedJob {
  const container = containerOf({ run: { ...job, kind: 'process' } })
  return {
    ...job,
    container,
    inputs: job.inputs.map((path) => expandText(container, path)),
    ...(job.creates === undefined ? {} : { creates: expandText(container, job.creates) }),
  }
}

/** Sees paths as the job does: its folders from here, everything else through its container, which is made when first needed. */
interface Inside extends AsyncDisposable {
  container(): Promise<Dockerode.Container>
  isMade(path: string): Promise<boolean>
  hashOf(path: string): Promise<string>
}

function look(machine: DockerMachine, ref: WorkloadRef, job: PlacedJob, context: ApplyContext): Inside {
  const { daemon } = machine
  let made: Promise<Dockerode.Container> | undefined
  const container = () => {
    made ??= makeJobContainer(daemon, ref, job, job, context)
    return made
  }
  const isHere = (path: string) =>
    daemon.isLocal && job.container.folders.some((folder) => path === folder.path || path.startsWith(`${folder.path}/`))
  return {
    container,
    isMade: async (path) => (isHere(path) ? isMade(path) : isMadeInside(await container(), path)),
    hashOf: async (path) => (isHere(path) ? contentHash(path) : contentHashInside(await container(), path)),
    async [Symbol.asyncDispose]() {
      const left = await made?.catch(() => undefined)
      if (left !== undefined) await discard(left)
    },
  }
}

async function makeJobContainer(
  daemon: Daemon,
  ref: WorkloadRef,
  job: PlacedJob,
  program: Pick<Job, 'argv' | 'cwd' | 'env' | 'stdin'>,
  context: ApplyContext,
): Promise<Dockerode.Container> {
  const image = await chosenImage(daemon, ref, job.container.image)
  throwIfAborted(context.signal)
  return createContainer(daemon, {
    name: jobContainer(daemon, ref, job),
    project: ref.project,
    role: 'job',
    labels: { [WORKLOAD]: ref.workload, [JOB]: job.name },
    argv: program.argv,
    cwd: program.cwd,
    env: program.env,
    data: [],
    container: job.container,
    ...(image === null ? {} : { image }),
    terminal: false,
    stdin: program.stdin !== undefined,
    ports: [],
    reveal: context.reveal,
  })
}

const jobContainer = (daemon: Daemon, ref: WorkloadRef, job: Job) =>
  objectName(daemon, ref.project, ref.workload, 'job', job.name)

/** Another image is another job, even when nothing else of it changed. */
async function fingerprintOf(asGiven: Job, job: PlacedJob, inside: Inside): Promise<string> {
  const fingerprint = await jobFingerprint(asGiven, job.inputs, (paths) => Promise.all(paths.map(inside.hashOf)))
  return createHash('sha256').update(`${fingerprint}\n${job.container.image}`).digest('hex').slice(0, 32)
}

/** The caller holds the lock, so a stamp that says `running` belongs to a killed process; its container may go on. */
async function endEarlierRun(
  daemon: Daemon,
  inside: Inside,
  ref: WorkloadRef,
  job: PlacedJob,
  context: ApplyContext,
): Promise<void> {
  const stamp = await readStamp(daemon.home, ref, job.name)
  if (stamp?.phase !== 'running') return
  const left = await orAbsent(daemon.docker.getContainer(jobContainer(daemon, ref, job)).inspect())
  if (left !== null && isManaged(daemon, left.Config.Labels)) await discard(daemon.docker.getContainer(left.Id))
  await cleanUp(daemon, inside, ref, job, context)
}

/**
 * A job that runs once never runs again over what it made, not even by force: it would destroy kept data. What is made
 * counts even without a stamp, because data can come from a copy.
 */
async function isDone(
  daemon: Daemon,
  inside: Inside,
  ref: WorkloadRef,
  job: PlacedJob,
  fingerprint: string,
  force: boolean,
): Promise<boolean> {
  const stamp = await readStamp(daemon.home, ref, job.name)
  const made = job.creates === undefined ? null : await inside.isMade(job.creates)
  if (job.once === true) return made ?? stamp?.phase === 'done'
  return !force && stamp?.phase === 'done' && stamp.fingerprint === fingerprint && made !== false
}

async function checkMade(inside: Inside, job: PlacedJob): Promise<void> {
  if (job.creates === undefined || job.once !== true || (await inside.isMade(job.creates))) return
  throw new EngineError('job_failed', `${job.title} ended well, but did not create ${job.creates}.`, {
    hint: 'See its output.',
  })
}

async function cleanUp(
  daemon: Daemon,
  inside: Inside,
  ref: WorkloadRef,
  job: PlacedJob,
  context: ApplyContext,
): Promise<void> {
  if (job.removeCreatesOnFailure === true && job.creates !== undefined && (await inside.isMade(job.creates)))
    await removeMade(daemon, inside, ref, job, job.creates, context)
  await removeStamp(daemon.home, ref, job.name)
}

/** With the rights of the job's own user, in its image: a path through a link reaches only what the job could have removed. */
async function removeMade(
  daemon: Daemon,
  inside: Inside,
  ref: WorkloadRef,
  job: PlacedJob,
  path: string,
  context: ApplyContext,
): Promise<void> {
  const uncancelled: ApplyContext = { ...context, signal: new AbortController().signal }
  const program = { argv: ['/bin/rm', '-rf', '--', path] as const, cwd: '/', env: {} }
  const remover = await makeJobContainer(
    daemon,
    ref,
    { ...job, name: `${job.name}-undo` },
    { ...program, argv: [...program.argv] },
    uncancelled,
  )
  try {
    await remover.start()
    await remover.wait()
  } finally {
    await discard(remover)
  }
  if (!(await inside.isMade(path))) return
  throw new EngineError('io_failed', `${path} could not be removed.`, { hint: 'Remove it by hand, then try again.' })
}
