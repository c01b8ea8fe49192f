import { StringDecoder } from 'node:string_decoder'
import { type ApplyContext, type Container, type Job, revealValue, type WorkloadRef } from '@stackquay/engine-api'
import type Dockerode from 'dockerode'
import { abortedError } from '../native/errors.ts'
import { exitOf } from '../native/exit-status.ts'
import { failed, keepTail, lastLines, timedOut } from '../native/job-process.ts'
import { pause } from '../native/time.ts'
import { expandIn } from './environment.ts'
import type { DockerMachine } from './machine.ts'
import { inNetwork } from './networks.ts'
import { programError } from './start.ts'
import { endContainer } from './stop.ts'
import { createFrameReader } from './wire/frames.ts'
import { takeOver } from './wire/request.ts'
import { targetOf } from './wire/target.ts'

export interface PlacedJob extends Job {
  readonly container: Container
}

/** How long an interrupted job may take to end by itself. */
const STOP = { signal: 'SIGTERM', deadlineSeconds: 1 } as const

const DRAIN_MS = 2000

/** Runs a job's container to its end, its output going to the operation and into the workload's log. */
export async function runJobContainer(
  machine: DockerMachine,
  ref: WorkloadRef,
  job: PlacedJob,
  container: Dockerode.Container,
  context: ApplyContext,
): Promise<void> {
  const stdin = job.stdin === undefined ? null : await revealValue(expandIn(job.container, job.stdin), context.reveal)
  const log = await machine.logs.jobLog(ref)
  const tail: string[] = []
  try {
    if (context.signal.aborted) throw abortedError()
    const attached = await attach(machine, container, stdin !== null)
    const output = receive(attached, tail, log.write, context)
    output.catch(() => {})
    const ended = Promise.withResolvers<{ StatusCode: number }>()
    // Asked for before the start: one that ends at once must not be missed.
    container.wait({ condition: 'next-exit' }).then(ended.resolve, ended.reject)
    ended.promise.catch(() => {})
    try {
      await inNetwork(machine.daemon, job.container.network, () => container.start())
    } catch (error) {
      attached.destroy()
      throw programError(error)
    }
    if (stdin !== null) attached.end(stdin)
    const { StatusCode } = await endOrInterrupt(job, container, ended.promise, tail, context).finally(() =>
      drain(output),
    )
    await output
    const { code, signal } = exitOf(StatusCode, machine.daemon.now())
    if (code !== 0) throw failed(job, code, signal, lastLines(tail))
  } finally {
    await log.close()
  }
}

/** A connection that does not end with its container must not hold up the one who waits. */
async function drain(output: Promise<void>): Promise<void> {
  await Promise.race([output.catch(() => {}), pause(DRAIN_MS)])
}

async function attach(machine: DockerMachine, { id }: Dockerode.Container, stdin: boolean) {
  const target = await targetOf(machine.daemon.docker)
  return takeOver(target, `/containers/${id}/attach?stream=1&stdout=1&stderr=1${stdin ? '&stdin=1' : ''}`)
}

async function receive(
  from: AsyncIterable<unknown>,
  tail: string[],
  write: (stream: 'stdout' | 'stderr', bytes: Buffer) => Promise<void>,
  context: ApplyContext,
): Promise<void> {
  const decoders = { stdout: new StringDecoder('utf8'), stderr: new StringDecoder('utf8') }
  const emit = (stream: 'stdout' | 'stderr', text: string) => {
    if (text === '') return
    keepTail(tail, text)
    context.output({ stream, text })
  }
  const frames = createFrameReader()
  for await (const chunk of from) {
    for (const { stream, bytes } of frames(chunk as Buffer)) {
      await write(stream, bytes)
      emit(stream, decoders[stream].write(bytes))
    }
  }
  for (const stream of ['stdout', 'stderr'] as const) emit(stream, decoders[stream].end())
}

async function endOrInterrupt(
  job: PlacedJob,
  container: Dockerode.Container,
  ended: Promise<{ StatusCode: number }>,
  tail: readonly string[],
  context: ApplyContext,
): Promise<{ StatusCode: number }> {
  const timeout = AbortSignal.timeout(job.timeoutSeconds * 1000)
  const interrupted = AbortSignal.any([context.signal, timeout])
  const interruption = Promise.withResolvers<null>()
  const interrupt = () => interruption.resolve(null)
  interrupted.addEventListener('abort', interrupt, { once: true })
  if (interrupted.aborted) interrupt()
  const result = await Promise.race([ended, interruption.promise])
  interrupted.removeEventListener('abort', interrupt)
  if (result !== null) return result
  // Also of a cancelled job nothing is left.
  await endContainer(container, STOP, new AbortController().signal)
  if (context.signal.aborted) throw abortedError()
  throw timedOut(job, lastLines(tail))
}
