import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import {
  type ApplyContext,
  EngineError,
  exitText,
  type Job,
  outOfMemoryHint,
  revealValue,
  type WorkloadRef,
} from '@stackquay/engine-api'
import type { Account } from './account.ts'
import { processEnvironment } from './environment.ts'
import { abortedError } from './errors.ts'
import { exitStatus } from './exit-status.ts'
import { endFamily } from './family.ts'
import { type Confined, suspectsOf } from './isolation/confine.ts'
import { logFiles, openForAppend, type Stream } from './log-files.ts'
import { recordLog } from './log-recorder.ts'
import type { Machine } from './machine.ts'
import { jobMarkers, jobUnit, newRunId } from './marker.ts'
import { newLog } from './new-log.ts'
import { checkProgram, type Spawned, spawnDetached } from './spawn.ts'
import { pause } from './time.ts'

/** How long an interrupted job may take to end by itself. */
const STOP = { signal: 'SIGTERM', deadlineSeconds: 1 } as const
/** A helper that outlives its job keeps the pipe open; it is not waited for any longer. */
const DRAIN_MS = 200
const TAIL_LINES = 20

/** Runs a job to its end, its output going to the operation and into the workload's log. Nothing of it is left when this returns. */
export async function runJobProcess(
  machine: Machine,
  ref: WorkloadRef,
  job: Job,
  liveLog: string | null,
  context: ApplyContext,
): Promise<void> {
  const confined = await machine.confiner.of(ref.project, jobUnit(ref, job), job.limits)
  try {
    await runConfined(machine, { ref, job, confined }, liveLog, context)
  } finally {
    confined.group?.remove()
  }
}

async function runConfined(
  machine: Machine,
  { ref, job, confined }: { readonly ref: WorkloadRef; readonly job: Job; readonly confined: Confined },
  liveLog: string | null,
  context: ApplyContext,
): Promise<void> {
  await checkProgram(job, confined.account)
  const marker = `${jobMarkers(machine.home, ref, job.name)}${newRunId()}`
  const env = await processEnvironment(machine, ref, confined.account, { env: job.env, marker }, context.reveal)
  const stdin = job.stdin === undefined ? null : await revealValue(job.stdin, context.reveal)
  const log = await jobLog(machine, ref, confined.account, liveLog)
  try {
    if (context.signal.aborted) throw abortedError()
    const spawned = await spawnDetached(machine, confined.program({ argv: job.argv, cwd: job.cwd, env }), [
      stdin === null ? 'ignore' : 'pipe',
      'pipe',
      'pipe',
    ])
    await follow(machine, { ref, job, confined }, spawned, marker, stdin, log.write, context)
  } finally {
    await log.close()
  }
}

async function follow(
  machine: Machine,
  { ref, job, confined }: { readonly ref: WorkloadRef; readonly job: Job; readonly confined: Confined },
  { child, leader }: Spawned,
  marker: string,
  stdin: string | null,
  write: (stream: Stream, bytes: Buffer) => Promise<void>,
  context: ApplyContext,
): Promise<void> {
  const tail: string[] = []
  const pump = async (stream: Stream, from: Readable | null) => {
    const decoder = new StringDecoder('utf8')
    const emit = (text: string) => {
      if (text === '') return
      keepTail(tail, text)
      context.output({ stream, text })
    }
    for await (const chunk of from ?? []) {
      await write(stream, chunk as Buffer)
      emit(decoder.write(chunk as Buffer))
    }
    emit(decoder.end())
  }
  const exited = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>
  const pumps = Promise.allSettled([pump('stdout', child.stdout), pump('stderr', child.stderr)])
  child.stdin?.on('error', () => {})
  child.stdin?.end(stdin ?? '')

  const timeout = AbortSignal.timeout(job.timeoutSeconds * 1000)
  const interrupted = AbortSignal.any([context.signal, timeout])
  const { group } = confined
  const target = { leader, markers: marker, policy: STOP, group }
  const end = () => endFamily(suspectsOf(machine, ref.project), target, new AbortController().signal)
  const interruption = Promise.withResolvers<null>()
  const interrupt = () => interruption.resolve(null)
  interrupted.addEventListener('abort', interrupt, { once: true })
  if (interrupted.aborted) interrupt()
  const result = await Promise.race([exited, interruption.promise])
  interrupted.removeEventListener('abort', interrupt)
  await end()
  const [code, signal] = exitStatus(confined, result ?? (await exited))
  const outOfMemory = (group?.outOfMemory() ?? 0) > 0
  const written = await Promise.race([pumps, pause(DRAIN_MS)])
  child.stdout?.destroy()
  child.stderr?.destroy()

  if (result === null && context.signal.aborted) throw abortedError()
  if (result === null) throw timedOut(job, lastLines(tail))
  for (const outcome of written ?? []) if (outcome.status === 'rejected') throw outcome.reason
  if (outOfMemory && code !== 0) throw ranOutOfMemory(job, lastLines(tail))
  if (code !== 0) throw failed(job, code, signal, lastLines(tail))
}

/** While the workload runs, its jobs write into the run's log; otherwise each has a log of its own. */
async function jobLog(machine: Machine, ref: WorkloadRef, account: Account | null, liveLog: string | null) {
  const files = liveLog === null ? await newLog(machine, ref) : logFiles(machine, ref, liveLog)
  const streams = await openForAppend(account, files)
  const recorder = liveLog === null ? await recordLog(files, machine) : null
  return {
    async write(stream: Stream, bytes: Buffer) {
      await (stream === 'stdout' ? streams.out : streams.err).appendFile(bytes)
      await recorder?.sample()
    },
    async close() {
      await recorder?.close()
      await streams.close()
    },
  }
}

/** Keeps text in chunks, joined only when a job failed. */
export function keepTail(tail: string[], text: string): void {
  tail.push(text)
  if (tail.length > 200) tail.splice(0, 100, tail.slice(0, 100).join('').slice(-16_384))
}

export function lastLines(tail: readonly string[]): string[] {
  return tail
    .join('')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .slice(-TAIL_LINES)
}

export function timedOut(job: Job, logTail: readonly string[]): EngineError {
  return new EngineError(
    'job_timeout',
    `${job.title} was still running after ${job.timeoutSeconds} seconds and was ended.`,
    {
      hint: 'See its last output for what it waited for, then try again.',
      retryable: true,
      logTail,
    },
  )
}

function ranOutOfMemory(job: Job, logTail: readonly string[]): EngineError {
  const how = exitText({ code: null, signal: null, outOfMemory: true }, job)
  return new EngineError('job_failed', `${job.title} ${how}.`, { hint: outOfMemoryHint, logTail })
}

export function failed(job: Job, code: number | null, signal: string | null, logTail: readonly string[]): EngineError {
  const how = signal === null ? `failed with exit code ${code}` : `was ended by ${signal}`
  return new EngineError('job_failed', `${job.title} ${how}.`, {
    hint:
      logTail.length > 0
        ? 'Its last output says why; correct that and try again.'
        : `It printed nothing. Try it by hand: ${job.argv.join(' ')}`,
    logTail,
  })
}
