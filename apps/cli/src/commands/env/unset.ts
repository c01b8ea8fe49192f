import { changeEnv, variableName } from '../../change-env.ts'
import { addChangeOptions, type ChangeFlags } from '../../change-project.ts'
import type { Define } from '../../define.ts'

export const defineUnset: Define = (command, context) =>
  addChangeOptions(command)
    .summary('remove variables')
    .description('Remove variables. The programs that read them restart.')
    .argument('<project>', 'id or slug')
    .argument('<names...>', 'of the variables')
    .action((project: string, names: string[], flags: ChangeFlags) => {
      const gone = Object.fromEntries(names.map((name) => [variableName(name), null]))
      return changeEnv(context(), project, gone, flags)
    })
