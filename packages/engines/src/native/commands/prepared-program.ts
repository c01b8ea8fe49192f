import type { CommandContext, CommandProgram } from '@stackquay/engine-api'
import { expand, makeMentionedData, processEnvironment } from '../environment.ts'
import type { Confined } from '../isolation/confine.ts'
import type { Machine } from '../machine.ts'
import { checkProgram } from '../spawn.ts'
import type { PreparedProgram } from './command-host.ts'

/** Paths of kept data filled in, those directories made, and everything checked that can be checked before. */
export async function preparedProgram(
  machine: Machine,
  confined: Confined,
  project: string,
  program: CommandProgram,
  marker: string,
  context: CommandContext,
): Promise<PreparedProgram> {
  const names = program.data.map((mount) => mount.name)
  await makeMentionedData(machine, project, names)
  const [file, ...args] = program.argv
  const expanded = {
    argv: [
      expand(machine, project, file, names),
      ...args.map((text) => expand(machine, project, text, names)),
    ] as const satisfies [string, ...string[]],
    cwd: expand(machine, project, program.cwd, names),
  }
  await checkProgram(expanded, confined.account)
  const ref = { project, workload: 'command' }
  const { env, data } = program
  const all = await processEnvironment(machine, ref, confined.account, { env, data, marker }, context.reveal)
  return confined.program({ ...expanded, env: all })
}
