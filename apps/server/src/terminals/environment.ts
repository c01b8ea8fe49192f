import { ProblemError } from '@stackquay/contract'
import type { NamedEnvironment, ProjectCommands } from '@stackquay/domain'
import type { CommandProgram } from '@stackquay/engine-api'

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

/** What a command of it runs in; in the container of the runtime itself where it may and that is up. */
export function containerOf({ name, container }: NamedEnvironment): Pick<CommandProgram, 'container' | 'beside'> {
  return container === undefined ? {} : { container, beside: name }
}
