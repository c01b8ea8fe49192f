import type { ApplyContext } from './engine.ts'
import { EngineError } from './errors.ts'
import { revealAll } from './fake-env.ts'
import { logOf, printLine } from './fake-logs.ts'
import { type FakeMachine, type FakeWorkload, keyOf } from './fake-machine.ts'
import { missingFile, ownerOf } from './fake-observations.ts'
import { fakeProgram } from './fake-programs.ts'
import { aborted } from './fake-waits.ts'
import type { FakeWorld } from './fake-world.ts'
import type { Exit } from './observed.ts'
import type { Workload, WorkloadRef } from './workload.ts'

export async function startWorkload(world: FakeWorld, workload: Workload, context: ApplyContext): Promise<void> {
  const { machine } = world
  const before = machine.workloads.get(keyOf(workload.ref))
  if (before?.state === 'running' && before.workload.fingerprint === workload.fingerprint) return
  if (before?.state === 'running') endWorkload(world, before, 'stopped', { signal: workload.stop.signal })
  const missing = missingFile(machine, workload)
  const next = newWorkload(world, workload, before)
  if (missing === undefined) return run(world, next, context)
  machine.workloads.set(keyOf(workload.ref), { ...next, state: 'waiting', reason: missing.hint })
}

async function run(world: FakeWorld, next: FakeWorkload, context: ApplyContext): Promise<void> {
  const { machine, events } = world
  const { workload } = next
  const { ref } = workload
  for (const binding of workload.ports) refuseTaken(machine, ref, binding)
  const program = fakeProgram(workload.run.argv)
  const env = await revealAll(workload.env, context)
  if (context.signal.aborted) throw aborted()
  for (const { name } of workload.data) machine.data.set(`${ref.project}/${name}`, 4096)
  machine.workloads.set(keyOf(ref), next)
  next.env = env
  next.pid = machine.nextPid++
  next.health = workload.health.kind === 'none' ? 'none' : 'starting'
  events.emit({ type: 'started', ref, pid: next.pid })
  if (program.does === 'print') printLine(world, ref, JSON.stringify(env[program.variable]), 'stdout')
  if (program.does !== 'exit') return
  for (const line of program.lines) printLine(world, ref, line, 'stdout')
  endWorkload(world, next, 'exited', { code: program.code })
}

function newWorkload({ machine, now }: FakeWorld, workload: Workload, before: FakeWorkload | undefined): FakeWorkload {
  const { container } = workload.run
  return {
    workload,
    state: 'running',
    health: 'none',
    reason: null,
    pid: null,
    since: now(),
    lastExit: before?.lastExit ?? null,
    env: {},
    log: logOf(machine, workload.ref),
    ...(container === undefined ? {} : { image: machine.images.of(workload.ref, container.image) }),
  }
}

/** The program of a workload is gone: by itself, or because it was stopped. */
export function endWorkload(
  { now, events }: FakeWorld,
  found: FakeWorkload,
  state: 'exited' | 'stopped',
  exit: Partial<Exit>,
): void {
  found.state = state
  found.pid = null
  found.health = 'none'
  found.reason = null
  found.since = now()
  found.lastExit = { code: null, signal: null, at: now(), ...exit }
  if (state === 'exited') events.emit({ type: 'exited', ref: found.workload.ref, exit: found.lastExit })
}

function refuseTaken(machine: FakeMachine, ref: WorkloadRef, binding: Workload['ports'][number]): void {
  const owner = ownerOf(machine, binding.hostPort)
  if (owner === null || (owner.ref !== null && keyOf(owner.ref) === keyOf(ref))) return
  throw new EngineError('port_in_use', `Port ${binding.hostPort} is used by "${owner.program}" (pid ${owner.pid}).`, {
    hint: `Stop it, or choose another port for "${binding.name}".`,
    retryable: true,
  })
}
