import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { projectRef } from '../../find-project.ts'
import { rulesText } from '../../network/rules-text.ts'
import { projectArgument } from '../../options.ts'

export const defineShow: Define = (command, context) =>
  command
    .argument('[project]', projectArgument)
    .summary('show the rules of a project')
    .description('Show the rules in front of a project, in the order in which they apply.')
    .addHelpText('after', '\nWhat --json prints can be given to: stq rules set --file')
    .action((project: string | undefined) => run(context(), project))

async function run(context: Context, named: string | undefined): Promise<void> {
  const client = await context.client()
  const id = await projectRef(context, named)
  const rules = await client.call('getProxyRules', { params: { id } }, { signal: context.signal })
  context.result(rules, () => rulesText(rules, context.style))
}
