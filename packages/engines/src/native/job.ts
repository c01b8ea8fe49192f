import { type ApplyContext, EngineError, type Job, type Value, type WorkloadRef } from '@stackquay/engine-api'
import type { Account } from './account.ts'
import { expand, expandValue, makeMentionedData, mentionedData } from './environment.ts'
import { endFamily } from './family.ts'
import { safe } from './home.ts'
import { contentHashesFor, isMadeFor } from './isolation/as-user.ts'
import { suspectsOf } from './isolation/confine.ts'
import { runJobProcess } from './job-process.ts'
import { isMade, jobFingerprint, readStamp, removeStamp, writeStamp } from './job-stamp.ts'
import { withLock } from './lock.ts'
import type { Machine } from './machine.ts'
import { jobMarkers, jobUnit } from './marker.ts'
import { removeAs } from './remove-path.ts'

/** Runs a job unless its work is done already. A job that a crash cut off is ended, cleaned up after, and run again. */
export async function runJob(
  machine: Machine,
  step: { readonly ref: WorkloadRef; readonly job: Job; readonly force: boolean },
  liveLog: () => Promise<string | null>,
  context: ApplyContext,
): Promise<void> {
  const { ref } = step
  safe(step.job.name)
  await withLock(machine, ref, context.signal, async () => {
    const job = await placed(machine, ref.project, step.job)
    await endEarlierRun(machine, ref, job, context.signal)
    const account = await machine.accounts.of(ref.project)
    const hashes = account === null ? undefined : (paths: readonly string[]) => contentHashesFor(account, paths)
    const [fingerprint, made] = await Promise.all([
      jobFingerprint(step.job, job.inputs, hashes),
      job.creates === undefined ? null : isMadeBy(account, job.creates),
    ])
    if (await isDone(machine, ref, job, { fingerprint, made }, step.force)) return

    await writeStamp(machine.home, ref, job.name, { phase: 'running', fingerprint, at: machine.now().toISOString() })
    try {
      await runJobProcess(machine, ref, job, await liveLog(), context)
      await checkMade(account, job)
    } catch (error) {
      await cleanUp(machine, ref, job)
      throw error
    }
    await writeStamp(machine.home, ref, job.name, { phase: 'done', fingerprint, at: machine.now().toISOString() })
  })
}

/** The job with the paths of kept data filled in, and those directories made. */
async function placed(machine: Machine, project: string, job: Job): Promise<Job> {
  const values: Value[] = [
    ...job.argv,
    job.cwd,
    ...Object.values(job.env),
    ...(job.stdin === undefined ? [] : [job.stdin]),
  ]
  await makeMentionedData(
    machine,
    project,
    mentionedData([...values, ...job.inputs, ...(job.creates === undefined ? [] : [job.creates])]),
  )
  const [program, ...args] = job.argv
  return {
    ...job,
    argv: [expand(machine, project, program), ...args.map((text) => expand(machine, project, text))],
    cwd: expand(machine, project, job.cwd),
    inputs: job.inputs.map((path) => expand(machine, project, path)),
    ...(job.stdin === undefined ? {} : { stdin: expandValue(machine, project, job.stdin) }),
    ...(job.creates === undefined ? {} : { creates: expand(machine, project, job.creates) }),
  }
}

/** The caller holds the lock, so a stamp that says `running` belongs to a killed process; its own process may go on. */
async function endEarlierRun(machine: Machine, ref: WorkloadRef, job: Job, signal: AbortSignal): Promise<void> {
  const stamp = await readStamp(machine.home, ref, job.name)
  if (stamp?.phase !== 'running') return
  const policy = { signal: 'SIGTERM', deadlineSeconds: 1 } as const
  const group = machine.confiner.group(ref.project, jobUnit(ref, job))
  const markers = jobMarkers(machine.home, ref, job.name)
  await endFamily(suspectsOf(machine, ref.project), { leader: null, markers, policy, group }, signal)
  await cleanUp(machine, ref, job)
}

/**
 * A job that runs once never runs again over what it made, not even by force: it would destroy kept data. What is made
 * counts even without a stamp, because data can come from a copy.
 */
async function isDone(
  machine: Machine,
  ref: WorkloadRef,
  job: Job,
  { fingerprint, made }: { readonly fingerprint: string; readonly made: boolean | null },
  force: boolean,
): Promise<boolean> {
  const stamp = await readStamp(machine.home, ref, job.name)
  if (job.once === true) return made ?? stamp?.phase === 'done'
  return !force && stamp?.phase === 'done' && stamp.fingerprint === fingerprint && made !== false
}

async function checkMade(account: Account | null, job: Job): Promise<void> {
  if (job.creates === undefined || (await isMadeBy(account, job.creates)) || job.once !== true) return
  throw new EngineError('job_failed', `${job.title} ended well, but did not create ${job.creates}.`, {
    hint: 'See its output.',
  })
}

const isMadeBy = (account: Account | null, path: string) => (account === null ? isMade(path) : isMadeFor(account, path))

async function cleanUp(machine: Machine, ref: WorkloadRef, job: Job): Promise<void> {
  if (job.removeCreatesOnFailure === true && job.creates !== undefined)
    await removeAs(await machine.accounts.of(ref.project), job.creates)
  await removeStamp(machine.home, ref, job.name)
}
