import type { Context } from '../../context.ts'
import { CliError } from '../../errors.ts'
import { exitCodes } from '../../exit-codes.ts'
import type { Define } from '../index.ts'

export const defineGet: Define = (command, context) =>
  command
    .summary('print one value, exactly')
    .description('Print the value of one variable, byte for byte and without a line end.')
    .argument('<project>', 'id or slug')
    .argument('<name>', 'of the variable')
    .action((project: string, name: string) => run(context(), project, name))

async function run(context: Context, project: string, name: string): Promise<void> {
  const client = await context.client()
  const { env } = await client.call('getProjectEnv', { params: { id: project } }, { signal: context.signal })
  const variable = env[name]
  if (variable === undefined) {
    const hint = `See: stq env ${project}`
    throw new CliError(`${project} has no variable "${name}".`, { exitCode: exitCodes.notFound, hint })
  }
  if (variable.value === null) {
    const hint = 'It takes a token of scope operate.'
    throw new CliError(`The value of "${name}" is a secret.`, { exitCode: exitCodes.denied, hint })
  }
  if (context.json) return context.result(variable, () => '')
  context.world.stdout.write(variable.value)
}
