import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { CliError } from '../../errors.ts'
import { exitCodes } from '../../exit-codes.ts'
import { revealVariable } from './reveal.ts'

export const defineGet: Define = (command, context) =>
  command
    .summary('print one value, exactly')
    .description(
      'Print the value of one variable, byte for byte and without a line end. A secret takes a token of scope operate, and the ' +
        'audit log records that it was read.',
    )
    .argument('<project>', 'id or slug')
    .argument('<name>', 'of the variable')
    .action((project: string, name: string) => run(context(), project, name))

async function run(context: Context, project: string, name: string): Promise<void> {
  const client = await context.client()
  const { env } = await client.call('getProjectEnv', { params: { id: project } }, { signal: context.signal })
  const listed = env[name]
  if (listed === undefined) {
    const hint = `See: stq env ${project}`
    throw new CliError(`${project} has no variable "${name}".`, { exitCode: exitCodes.notFound, hint })
  }
  const value = listed.secret ? await revealVariable(context, project, name) : (listed.value ?? '')
  if (context.json) return context.result({ ...listed, value }, () => '')
  context.world.stdout.write(value)
}
