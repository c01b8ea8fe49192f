import type { Observed, ObservedState, WorkloadRef } from '@stackquay/engine-api'
import { recordedWorkloads } from '../native/record.ts'
import { pause } from '../native/time.ts'
import { missingFile } from '../native/waiting.ts'
import { exitOfContainer, isRunning } from './exit.ts'
import { type FoundContainer, findContainers } from './find.ts'
import type { DockerMachine } from './machine.ts'
import { type Description, type RunRecord, readRecord } from './record.ts'
import { wasWanted } from './supervisor.ts'

/** How long an observation waits for the first health check of a run that was just found. */
const FIRST_CHECK_MS = 400

/** Asks Docker what there is of a project, and our notes what it cannot know. Watches what it finds alive; changes nothing. */
export async function observeProject(
  machine: DockerMachine,
  project: string,
  signal: AbortSignal,
): Promise<readonly Observed[]> {
  const { home } = machine.daemon
  const [containers, recorded] = await Promise.all([
    findContainers(machine.daemon, project, signal),
    recordedWorkloads(home, project),
  ])
  const found = new Map(containers.map((container) => [container.ref.workload, container]))
  const names = [...new Set([...found.keys(), ...recorded.map((ref) => ref.workload)])].sort()
  const seen = await Promise.all(
    names.map(async (workload) => {
      const ref = { project, workload }
      return observeOne(machine, ref, found.get(workload) ?? null, await readRecord(home, ref))
    }),
  )
  return seen.filter((one) => one !== null)
}

export async function observeOne(
  machine: DockerMachine,
  ref: WorkloadRef,
  found: FoundContainer | null,
  record: RunRecord | null,
): Promise<Observed | null> {
  const description = found?.description ?? record?.description ?? null
  if (description === null) return null
  const report = (state: ObservedState, since: string, now: Partial<Observed> = {}) =>
    observed(ref, description, found, state, since, now)

  if (found !== null && isRunning(found.info)) {
    const monitor = machine.supervisor.watchRun({ ...found, description })
    await Promise.race([monitor.checked, pause(FIRST_CHECK_MS)])
    const { health, reason, ended } = monitor.state()
    if (ended === null) {
      const { Pid, StartedAt } = found.info.State
      return report('running', rfc3339(StartedAt), { pid: Pid, health, reason: health === 'unhealthy' ? reason : null })
    }
    return report('exited', ended.at, { lastExit: ended })
  }
  if (found !== null) {
    const exit = exitOfContainer(found.info)
    if (exit === null) return report('stopped', rfc3339(found.info.Created), { lastExit: description.lastExit })
    return report(wasWanted(record, found.id) ? 'stopped' : 'exited', exit.at, { lastExit: exit })
  }
  return record === null ? null : observeRecord(machine, record, report)
}

/** There is no container: it waits for one, or it was removed by hand. */
async function observeRecord(
  machine: DockerMachine,
  record: RunRecord,
  report: (state: ObservedState, since: string, now?: Partial<Observed>) => Observed,
): Promise<Observed> {
  const { lastExit, since } = record
  switch (record.phase) {
    case 'waiting': {
      const missing = await missingFile(null, record.description.requires)
      if (missing === null) return report('stopped', since, { lastExit })
      machine.supervisor.watchWaiting(record)
      return report('waiting', since, { lastExit, reason: missing.hint })
    }
    case 'started':
      return report('exited', since, { lastExit: { code: null, signal: null, at: since } })
    case 'stopping':
    case 'stopped':
      return report('stopped', since, { lastExit })
    default:
      return record.phase satisfies never
  }
}

function observed(
  ref: WorkloadRef,
  description: Description,
  found: FoundContainer | null,
  state: ObservedState,
  since: string,
  now: Partial<Observed>,
): Observed {
  return {
    ref,
    state,
    fingerprint: description.fingerprint,
    since,
    pid: null,
    ports: description.ports.map(({ name, port, hostPort }) => ({ name, port, hostPort })),
    lastExit: description.lastExit,
    health: 'none',
    reason: null,
    title: description.title,
    stop: description.stop,
    dependsOn: description.dependsOn,
    ...(found === null ? {} : { image: { reference: description.image, id: found.info.Image } }),
    ...now,
  }
}

/** Docker writes nanoseconds. */
function rfc3339(text: string): string {
  return new Date(text).toISOString()
}
