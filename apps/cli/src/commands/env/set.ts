import { addChangeOptions, type ChangeFlags, changeEnv, type EnvChange, variableName } from '../../change-env.ts'
import type { Context } from '../../context.ts'
import { usageError } from '../../errors.ts'
import { askHidden, isInteractive, readAllInput } from '../../prompt.ts'
import type { Define } from '../index.ts'

interface SetFlags extends ChangeFlags {
  readonly secret?: boolean
}

export const defineSet: Define = (command, context) =>
  addChangeOptions(command)
    .summary('set variables')
    .description('Set variables. What runs is restarted when it has to be.')
    .argument('<project>', 'id or slug')
    .argument(
      '<pairs...>',
      'NAME=value, or NAME alone: its value is asked for without showing it, or read from standard input',
    )
    .option('--secret', 'keep the values encrypted and hidden')
    .addHelpText(
      'after',
      `
A value from standard input is taken as it is, without its last line end.

  stq env set shop LOG_LEVEL=debug
  stq env set shop API_KEY --secret < key.txt`,
    )
    .action((project: string, pairs: string[], flags: SetFlags) => run(context(), project, pairs, flags))

async function run(context: Context, project: string, pairs: readonly string[], flags: SetFlags): Promise<void> {
  const change: Record<string, EnvChange> = {}
  const secret = flags.secret === true ? { secret: true } : {}
  const bare = pairs.filter((pair) => !pair.includes('='))
  if (bare.length > 1 && !isInteractive(context.world)) throw usageError('Only one value can come from standard input.')
  for (const pair of pairs) {
    const sign = pair.indexOf('=')
    const name = variableName(sign === -1 ? pair : pair.slice(0, sign))
    change[name] = { value: sign === -1 ? await readValue(context, name) : pair.slice(sign + 1), ...secret }
  }
  await changeEnv(context, project, change, flags)
}

function readValue({ world }: Context, name: string): Promise<string> {
  return isInteractive(world) ? askHidden(world, `${name}: `) : readAllInput(world)
}
