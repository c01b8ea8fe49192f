import { ProblemError } from '@stackquay/contract'
import type { NamedEnvironment, ProjectCommands } from '@stackquay/domain'
import type { CommandProgram, Engine, Exit } from '@stackquay/engine-api'

/** The places of terminals and single programs: the first is that where nobody names one. */
export function placesOf({ environments, dataEnvironments }: ProjectCommands): readonly NamedEnvironment[] {
  return [...environments, ...dataEnvironments]
}

/** The one of that name, or the first. Refuses one that there is not, or in which nothing can run. */
export function environmentFor(places: readonly NamedEnvironment[], name: string | undefined): NamedEnvironment {
  const found = name === undefined ? places[0] : places.find((one) => one.name === name)
  if (found === undefined) {
    const names = places.map((one) => `"${one.name}"`).join(', ')
    throw new ProblemError('not_found', `There is no environment "${name}" in this project.`, {
      hint: `There is ${names}.`,
    })
  }
  if (found.reason !== null) throw new ProblemError('unavailable_here', found.reason)
  return found
}

/** A program beside a database or a service would find nobody while that does not run. */
export async function refuseStopped(
  { name, label, needsUp }: NamedEnvironment,
  project: string,
  engine: Pick<Engine, 'observe'>,
  signal: AbortSignal,
): Promise<void> {
  if (needsUp !== true) return
  const observed = await engine.observe(project, signal)
  if (observed.some(({ ref, state }) => ref.workload === name && state === 'running')) return
  throw new ProblemError('not_running', `${label} does not run.`)
}

/** What a command of it runs in, and what it may use; in the container of the workload itself where it may and that is up. */
export function containerOf({
  name,
  container,
  limits,
}: NamedEnvironment): Pick<CommandProgram, 'container' | 'beside' | 'limits'> {
  if (container !== undefined) return { container, beside: name }
  return limits === undefined ? {} : { limits }
}

/** How a program ended, as callers are answered. */
export function exitView({ code, signal, outOfMemory, outOfProcesses }: Omit<Exit, 'at'>): Omit<Exit, 'at'> {
  return {
    code,
    signal,
    ...(outOfMemory === undefined ? {} : { outOfMemory }),
    ...(outOfProcesses === undefined ? {} : { outOfProcesses }),
  }
}
