import { ProblemError } from '@stackquay/contract'
import type { NamedEnvironment, ProjectCommands } from '@stackquay/domain'
import type { CommandProgram, Exit } from '@stackquay/engine-api'

/** The environment of a runtime, or the project's first. Refuses one that there is not, or in which nothing can run. */
export function environmentFor({ environments }: ProjectCommands, name: string | undefined): NamedEnvironment {
  const found = name === undefined ? environments[0] : environments.find((one) => one.name === name)
  if (found === undefined) {
    const names = environments.map((one) => `"${one.name}"`).join(', ')
    throw new ProblemError('not_found', `There is no environment "${name}" in this project.`, {
      hint: `There is ${names}: the project’s runtimes.`,
    })
  }
  if (found.reason !== null) throw new ProblemError('unavailable_here', found.reason)
  return found
}

/** What a command of it runs in, and what it may use; in the container of the runtime itself where it may and that is up. */
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
