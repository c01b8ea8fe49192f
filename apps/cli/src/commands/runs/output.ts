import { fillPath } from '@stackquay/client/address'
import { routes } from '@stackquay/client/routes'
import { refuse, send } from '@stackquay/client/transport'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { programOutput } from '../../output/program-output.ts'
import { whole } from '../../output/whole-file.ts'
import { addRunArguments, findRun, type OneRunFlags } from '../../runs/find-run.ts'

export const defineOutput: Define = (command, context) =>
  addRunArguments(command)
    .summary('print what a run has printed so far')
    .description('Print the output of a run so far, both streams in the order they came.')
    .action((id: string | undefined, flags: OneRunFlags) => run(context(), id, flags))

async function run(context: Context, id: string | undefined, flags: OneRunFlags): Promise<void> {
  const params = await findRun(context, await context.client(), id, flags)
  const connection = await context.connection()
  const wanted = { ...routes.getRunOutput, path: fillPath(routes.getRunOutput.path, params) }
  const response = await send(connection, wanted, { signal: context.signal })
  if (!response.ok || response.body === null) return refuse(connection, response)
  const decoder = new TextDecoder()
  const print = programOutput(context.world.stdout, context.style.colors.isColorSupported)
  for await (const bytes of whole('The output', response.body, context.signal))
    await print(decoder.decode(bytes, { stream: true }))
}
