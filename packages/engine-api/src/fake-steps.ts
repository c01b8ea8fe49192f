import type { Step } from './change.ts'
import type { ApplyContext } from './engine.ts'
import { EngineError, noImages } from './errors.ts'
import { deleteData } from './fake-data.ts'
import { revealAll } from './fake-env.ts'
import { type FakeMachine, keyOf } from './fake-machine.ts'
import { fakeProgram } from './fake-programs.ts'
import { endWorkload, startWorkload } from './fake-start.ts'
import { pause } from './fake-waits.ts'
import type { FakeWorld } from './fake-world.ts'
import type { Workload } from './workload.ts'

type StepOf<Do extends Step['do']> = Extract<Step, { do: Do }>

/** Does a step on the pretended machine. */
export async function applyFakeStep(world: FakeWorld, step: Step, context: ApplyContext): Promise<void> {
  const { machine } = world
  switch (step.do) {
    case 'start':
      return startWorkload(world, step.workload, context)
    case 'ready':
      return becomeReady(world, step.workload, context.signal)
    case 'pull':
      if (!world.images) throw noImages()
      return machine.images.pull(step.ref, step.image, step.newer)
    case 'job':
      return runJob(machine, step, context)
    case 'stop':
      return stop(world, step)
    case 'remove':
      for (const key of machine.jobs.keys()) if (key.startsWith(`${keyOf(step.ref)}/`)) machine.jobs.delete(key)
      machine.workloads.delete(keyOf(step.ref))
      return
    case 'deleteData':
      return deleteData(machine, step.project, step.data)
    case 'strays':
      return
    default:
      return step satisfies never
  }
}

async function becomeReady({ machine, events }: FakeWorld, workload: Workload, signal: AbortSignal): Promise<void> {
  const found = machine.workloads.get(keyOf(workload.ref))
  if (found?.state === 'waiting') return
  if (found?.state !== 'running') {
    const code = found?.lastExit?.code ?? null
    throw new EngineError('exited_early', `${workload.title} ended with exit code ${code} before it was ready.`, {
      hint: 'Its last output says why; correct that and start it again.',
      logTail: (found?.log ?? []).slice(-20).map((line) => line.text),
    })
  }
  if (workload.health.kind === 'none' || found.health === 'healthy') return
  if (fakeProgram(workload.run.argv).does === 'never-listen') {
    await pause(workload.health.timeoutSeconds * 1000, signal)
    const seconds = workload.health.timeoutSeconds
    throw new EngineError('never_ready', `${workload.title} was not ready within ${seconds} seconds.`, {
      hint: 'It listens on no port.',
      retryable: true,
      logTail: found.log.slice(-20).map((line) => line.text),
    })
  }
  found.health = 'healthy'
  events.emit({ type: 'healthy', ref: workload.ref })
}

async function runJob(machine: FakeMachine, { ref, job, force }: StepOf<'job'>, context: ApplyContext): Promise<void> {
  const key = `${keyOf(ref)}/${job.name}`
  const fingerprint = JSON.stringify([job.argv, job.cwd, job.env])
  const done = machine.jobs.get(key)
  if (done !== undefined && (job.once === true || (done === fingerprint && !force))) return
  const program = fakeProgram(job.argv)
  await revealAll(job.env, context)
  if (program.does === 'hang') {
    await pause(job.timeoutSeconds * 1000, context.signal)
    throw new EngineError(
      'job_timeout',
      `${job.title} was still running after ${job.timeoutSeconds} seconds and was ended.`,
      { hint: 'Try again.' },
    )
  }
  const lines = program.does === 'exit' ? program.lines : []
  for (const line of lines) context.output({ stream: 'stdout', text: `${line}\n` })
  if (program.does === 'exit' && program.code !== 0) {
    throw new EngineError('job_failed', `${job.title} failed with exit code ${program.code}.`, {
      hint: 'Its last output says why.',
      logTail: lines,
    })
  }
  machine.jobs.set(key, fingerprint)
}

function stop(world: FakeWorld, step: StepOf<'stop'>): void {
  const found = world.machine.workloads.get(keyOf(step.ref))
  if (found?.state === 'running') endWorkload(world, found, 'stopped', { signal: step.stop.signal })
  else if (found !== undefined) found.state = 'stopped'
}
