import type { PortOwner } from './engine.ts'
import { type FakeMachine, type FakeWorkload, keyOf } from './fake-machine.ts'
import type { Observed, Reading, Sample } from './observed.ts'
import type { Workload, WorkloadRef } from './workload.ts'

export function observedWorkloads(machine: FakeMachine, project: string): readonly Observed[] {
  return [...machine.workloads.values()]
    .filter((found) => found.workload.ref.project === project)
    .map((found) => observed(machine, found))
}

function observed(machine: FakeMachine, found: FakeWorkload): Observed {
  const { workload } = found
  const unblocked = found.state === 'waiting' && hasRequiredFiles(machine, workload)
  return {
    ref: workload.ref,
    state: unblocked ? 'stopped' : found.state,
    fingerprint: workload.fingerprint,
    since: found.since,
    pid: found.pid,
    ports: workload.ports.map(({ name, port, hostPort }) => ({ name, port, hostPort })),
    lastExit: found.lastExit,
    health: found.health,
    reason: unblocked ? null : found.reason,
    title: workload.title,
    stop: workload.stop,
    dependsOn: workload.dependsOn,
    ...(found.image === undefined ? {} : { image: found.image }),
  }
}

/** Whether every file that the workload waits for is there. */
export function hasRequiredFiles(machine: FakeMachine, workload: Workload): boolean {
  return missingFile(machine, workload) === undefined
}

export function missingFile(machine: FakeMachine, workload: Workload): Workload['requires'][number] | undefined {
  return workload.requires.find((required) => !required.anyOf.some((path) => machine.files.has(path)))
}

/** Ids of the projects of which the machine holds anything. */
export function projectsOn({ workloads, data, asides, jobs, commands, logs }: FakeMachine): readonly string[] {
  const keys = [workloads, data, asides, jobs, commands, logs].flatMap((held) => [...held.keys()])
  return [...new Set(keys.map((key) => key.split('/')[0] ?? ''))].sort()
}

export function samplesOf(machine: FakeMachine, project: string, time: string): readonly Sample[] {
  return [...machine.workloads.values()]
    .filter(({ workload, state }) => workload.ref.project === project && state === 'running')
    .map(({ workload }) => ({
      ref: workload.ref,
      time,
      cpu: 0,
      memoryBytes: 1 << 20,
      processes: 1,
      readBytes: null,
      writtenBytes: null,
    }))
}

/** One second of CPU for each second that it runs. */
export function readingsOf(machine: FakeMachine, now: string): readonly Reading[] {
  return [...machine.workloads.values()]
    .filter(({ state }) => state === 'running')
    .map(({ workload, pid, since }) => ({
      ref: workload.ref,
      run: String(pid),
      cpuSeconds: Math.max(0, Date.parse(now) - Date.parse(since)) / 1000,
      memoryBytes: 1 << 20,
      processes: 1,
      readBytes: null,
      writtenBytes: null,
      receivedBytes: null,
      sentBytes: null,
    }))
}

export function addressOf(machine: FakeMachine, ref: WorkloadRef, port: string): { host: string; port: number } | null {
  const found = machine.workloads.get(keyOf(ref))
  const binding = found?.workload.ports.find((candidate) => candidate.name === port)
  return found?.state === 'running' && binding !== undefined ? { host: '127.0.0.1', port: binding.hostPort } : null
}

export function ownerOf(machine: FakeMachine, port: number): PortOwner | null {
  const foreign = machine.foreignPorts.get(port)
  if (foreign !== undefined) return { ...foreign, ref: null }
  for (const { workload, state, pid } of machine.workloads.values()) {
    if (state === 'running' && workload.ports.some((binding) => binding.hostPort === port))
      return { pid, program: 'fake', ref: workload.ref }
  }
  return null
}
