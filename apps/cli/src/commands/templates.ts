import type { OfferedTemplate } from '@stackquay/contract'
import type { Context } from '../context.ts'
import type { Define } from '../define.ts'
import { addEngineOption, type EngineFlags, engineQuery } from '../options.ts'
import { missing } from '../output/offered-text.ts'
import { plainText } from '../output/plain-text.ts'
import { table } from '../output/table.ts'

export const define: Define = (command, context) =>
  addEngineOption(command)
    .addHelpText('after', '\nUse one with: stq create <name> --template <template>')
    .action((flags: EngineFlags) => run(context(), flags))

async function run(context: Context, flags: EngineFlags): Promise<void> {
  const client = await context.client()
  const { templates: items } = await client.call('listRuntimes', engineQuery(flags), { signal: context.signal })
  context.result({ items }, () => {
    if (context.quiet)
      return items
        .filter(({ available }) => available)
        .map(({ name }) => name)
        .join('\n')
    return table(
      ['TEMPLATE', 'WHAT', 'NEEDS', ''],
      items.map((item) => row(item, context)),
      context.style,
    )
  })
}

function row(template: OfferedTemplate, { style }: Context) {
  const { name, label, summary, runtime, databases, available, reason, install } = template
  const needs = [runtime, ...databases].map(plainText).join(', ')
  const note = available ? plainText(summary) : missing(reason, install)
  return [name, plainText(label), needs, { text: note, paint: available ? style.colors.dim : style.colors.yellow }]
}
