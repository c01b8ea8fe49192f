import { EngineError } from './errors.ts'
import type { FakeMachine } from './fake-machine.ts'

export function dataOf(machine: FakeMachine, project: string): readonly { name: string; sizeBytes: number }[] {
  return [...machine.data]
    .filter(([key]) => key.startsWith(`${project}/`))
    .map(([key, sizeBytes]) => ({ name: key.slice(project.length + 1), sizeBytes }))
}

export function copyData({ data }: FakeMachine, from: string, to: string, name: string): void {
  const size = data.get(`${from}/${name}`)
  if (size === undefined || data.has(`${to}/${name}`)) {
    throw new EngineError('engine_cannot', `The data "${name}" cannot be copied.`, { hint: 'Check both projects.' })
  }
  data.set(`${to}/${name}`, size)
}

export function deleteData(machine: FakeMachine, project: string, name: string): void {
  for (const { workload, state } of machine.workloads.values()) {
    const isUser = workload.ref.project === project && workload.data.some((mount) => mount.name === name)
    if (!isUser || state !== 'running') continue
    throw new EngineError('engine_cannot', `The data "${name}" is in use by ${workload.title} and cannot be deleted.`, {
      hint: 'Stop it first.',
    })
  }
  machine.data.delete(`${project}/${name}`)
}
