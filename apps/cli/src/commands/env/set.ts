import { changeEnv, type EnvChange, variableName } from '../../change-env.ts'
import { addChangeOptions, type ChangeFlags } from '../../change-project.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { usageError } from '../../errors.ts'
import { eachOf } from '../../options.ts'
import { askHidden, isInteractive, readAllInput } from '../../prompt.ts'

interface SetFlags extends ChangeFlags {
  readonly secret?: boolean
  readonly runtime?: readonly string[]
  readonly allRuntimes?: boolean
  readonly keep?: boolean
}

export const defineSet: Define = (command, context) =>
  addChangeOptions(command)
    .summary('set variables')
    .description('Set variables. The programs that read them restart.')
    .argument('<project>', 'id or slug')
    .argument(
      '<pairs...>',
      'NAME=value, or NAME alone: its value is asked for without showing it, or read from standard input',
    )
    .option('--secret', 'keep the values encrypted and hidden')
    .option('--runtime <name>', 'only this runtime receives them; can be given more than once', eachOf)
    .option('--all-runtimes', 'all runtimes receive them, as by default')
    .option('--keep', 'leave the values as they are and change only who receives them')
    .addHelpText(
      'after',
      `
A value from standard input is taken as it is, without its last line end.

  stq env set shop LOG_LEVEL=debug
  stq env set shop API_KEY --secret < key.txt
  stq env set shop NODE_OPTIONS --keep --runtime node`,
    )
    .action((project: string, pairs: string[], flags: SetFlags) => run(context(), project, pairs, flags))

async function run(context: Context, project: string, pairs: readonly string[], flags: SetFlags): Promise<void> {
  const traits = { ...(flags.secret === true ? { secret: true } : {}), ...receivers(flags) }
  const bare = pairs.filter((pair) => !pair.includes('='))
  if (flags.keep === true) {
    if (bare.length < pairs.length) throw usageError('With --keep variables are named without a value.')
    if (Object.keys(traits).length === 0) throw usageError('--keep goes with --runtime, --all-runtimes or --secret.')
  } else if (bare.length > 1 && !isInteractive(context.world)) {
    throw usageError('Only one value can come from standard input.')
  }
  const change: Record<string, EnvChange> = {}
  for (const pair of pairs) {
    const sign = pair.indexOf('=')
    const name = variableName(sign === -1 ? pair : pair.slice(0, sign))
    if (flags.keep === true) change[name] = traits
    else change[name] = { value: sign === -1 ? await readValue(context, name) : pair.slice(sign + 1), ...traits }
  }
  await changeEnv(context, project, change, flags)
}

function receivers({ runtime, allRuntimes }: SetFlags): { runtimes?: string[] | null } {
  if (runtime !== undefined && allRuntimes === true)
    throw usageError('--runtime and --all-runtimes exclude each other.')
  if (allRuntimes === true) return { runtimes: null }
  return runtime === undefined ? {} : { runtimes: [...runtime] }
}

function readValue({ world }: Context, name: string): Promise<string> {
  return isInteractive(world) ? askHidden(world, `${name}: `) : readAllInput(world)
}
