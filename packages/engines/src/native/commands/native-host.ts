import type { CommandRef, Commands } from '@stackquay/engine-api'
import { suspectsOf } from '../isolation/confine.ts'
import type { Machine } from '../machine.ts'
import { commandProgramMarkers, commandUnit, newRunId, shimUnit } from '../marker.ts'
import { cannotStart } from '../spawn.ts'
import type { CommandHost } from './command-host.ts'
import { createCommands } from './commands.ts'
import { execProgram } from './exec.ts'
import { preparedProgram } from './prepared-program.ts'

/** Commands that are processes of this machine. */
export function createNativeCommands(machine: Machine, closing: AbortSignal): Commands {
  const removeGroups = (ref: CommandRef) =>
    [commandUnit(ref), shimUnit(ref)]
      .map((unit) => machine.confiner.group(ref.project, unit)?.remove() ?? true)
      .every((isGone) => isGone)
  const host: CommandHost = {
    ...machine,
    suspects: (project) => suspectsOf(machine, project),
    group: (ref) => machine.confiner.group(ref.project, commandUnit(ref)),
    async prepare(spec, context) {
      const marker = `${commandProgramMarkers(machine.home, spec.ref)}${newRunId()}`
      const confined = await machine.confiner.of(spec.ref.project, commandUnit(spec.ref), spec.limits)
      const program = await preparedProgram(machine, confined, spec.ref.project, spec, marker, context)
      const { account, signalsAreCodes, group } = confined
      return { program, user: account, signalsAreCodes, memoryEvents: group?.memoryEvents ?? null, elsewhere: null }
    },
    cannotStart: ({ argv }, { code, message }) => cannotStart(argv[0], Object.assign(new Error(message), { code })),
    shimGroups: (ref) => machine.confiner.group(ref.project, shimUnit(ref))?.make(null) ?? [],
    removeGroups,
    async clear(ref) {
      removeGroups(ref)
    },
    spareMs: 3000,
  }
  return createCommands(host, (program, io, context) => execProgram(machine, program, io, context), closing)
}
