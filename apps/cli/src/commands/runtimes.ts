import type { OfferedRuntime } from '@stackquay/contract'
import type { Context } from '../context.ts'
import type { Define } from '../define.ts'
import { addEngineOption, type EngineFlags, engineQuery } from '../options.ts'
import { missing, offeredVersions } from '../output/offered-text.ts'
import { plainText } from '../output/plain-text.ts'
import { type Cell, table } from '../output/table.ts'

export const define: Define = (command, context) =>
  addEngineOption(command)
    .addHelpText(
      'after',
      '\nThe version with a star is the one taken when none is named. What one can be set to: stq runtime help <runtime>',
    )
    .action((flags: EngineFlags) => run(context(), flags))

async function run(context: Context, flags: EngineFlags): Promise<void> {
  const client = await context.client()
  const { engine, runtimes } = await client.call('listRuntimes', engineQuery(flags), { signal: context.signal })
  context.result({ engine, items: runtimes }, () => {
    if (context.quiet)
      return runtimes
        .filter(({ available }) => available)
        .map(({ name }) => name)
        .join('\n')
    return table(
      ['RUNTIME', 'WHAT', 'VERSIONS'],
      runtimes.map((runtime) => row(runtime, context)),
      context.style,
    )
  })
}

function row(runtime: OfferedRuntime, { style }: Context): (string | Cell)[] {
  const { name, label, available, reason, install } = runtime
  const versions = available ? offeredVersions(runtime) : { text: missing(reason, install), paint: style.colors.yellow }
  return [name, plainText(label), versions]
}
