import { type CommandContext, type CommandProgram, type Commands, EngineError } from '@stackquay/engine-api'
import { getImage } from '../images.ts'
import type { DockerMachine } from '../machine.ts'

/** Commands whose image is fetched when it is not there: a project that was never started has not fetched it yet. */
export function withImages<C extends Pick<Commands, 'start' | 'exec'>>(commands: C, machine: DockerMachine): C {
  const orFetched = async <T>({ container }: CommandProgram, { signal }: CommandContext, act: () => Promise<T>) => {
    try {
      return await act()
    } catch (error) {
      if (container === undefined || !(error instanceof EngineError) || error.code !== 'image_not_found') throw error
    }
    const { image, build } = container
    await getImage(machine, { image, build, newer: false }, { signal, output: () => undefined })
    return act()
  }
  return {
    ...commands,
    start: (spec, context) => orFetched(spec, context, () => commands.start(spec, context)),
    exec: (program, io, context) => orFetched(program, context, () => commands.exec(program, io, context)),
  }
}
