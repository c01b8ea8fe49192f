import type { Commands } from '@stackquay/engine-api'
import type { Machine } from '../machine.ts'
import { commandProgramMarkers, newRunId } from '../marker.ts'
import { cannotStart } from '../spawn.ts'
import type { CommandHost } from './command-host.ts'
import { createCommands } from './commands.ts'
import { execProgram } from './exec.ts'
import { preparedProgram } from './prepared-program.ts'

/** Commands that are processes of this machine. */
export function createNativeCommands(machine: Machine, closing: AbortSignal): Commands {
  const host: CommandHost = {
    ...machine,
    async prepare(spec, context) {
      const marker = `${commandProgramMarkers(machine.home, spec.ref)}${newRunId()}`
      return { program: await preparedProgram(machine, spec.ref.project, spec, marker, context), elsewhere: null }
    },
    cannotStart: ({ argv }, { code, message }) => cannotStart(argv[0], Object.assign(new Error(message), { code })),
    // Its processes are found by their markers, and there is nothing else.
    clear: async () => {},
    spareMs: 3000,
  }
  return createCommands(host, (program, io, context) => execProgram(machine, program, io, context), closing)
}
