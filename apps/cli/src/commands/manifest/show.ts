import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { projectRef } from '../../find-project.ts'
import { projectArgument } from '../../options.ts'
import { plainLines } from '../../output/plain-text.ts'

export const defineShow: Define = (command, context) =>
  command
    .summary('print a project as a stackquay.yml')
    .description('Print a project as a stackquay.yml; secrets by name only.')
    .argument('[project]', projectArgument)
    .addHelpText('after', '\n  stq manifest show shop > stackquay.yml')
    .action((project: string | undefined) => run(context(), project))

async function run(context: Context, named: string | undefined): Promise<void> {
  const client = await context.client()
  const id = await projectRef(context, named)
  const answer = await client.call('getManifest', { params: { id } }, { signal: context.signal })
  const isTerminal = context.world.stdout.isTTY === true
  context.result(answer, () => (isTerminal ? plainLines(answer.manifest) : answer.manifest).replace(/\n$/, ''))
}
