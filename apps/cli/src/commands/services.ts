import type { Context } from '../context.ts'
import type { Define } from '../define.ts'
import type { OfferedService } from '../offered.ts'
import { addEngineOption, type EngineFlags, engineQuery } from '../options.ts'
import { missing, offeredVersions } from '../output/offered-text.ts'
import { plainText } from '../output/plain-text.ts'
import { type Cell, table } from '../output/table.ts'

export const define: Define = (command, context) =>
  addEngineOption(command)
    .addHelpText(
      'after',
      `
The version with a star is the one taken when none is named. 
Add a service with "stq service enable <project> <service>", a database with "stq db create". What one can be set to:
stq service help <service>`,
    )
    .action((flags: EngineFlags) => run(context(), flags))

async function run(context: Context, flags: EngineFlags): Promise<void> {
  const client = await context.client()
  const { engine, items } = await client.call('listServices', engineQuery(flags), { signal: context.signal })
  context.result({ engine, items }, () => {
    if (context.quiet)
      return items
        .filter(({ available }) => available)
        .map(({ name }) => name)
        .join('\n')
    const rows = items.map((item) => row(item, context))
    return rows.length === 0 ? 'No services.' : table(['SERVICE', 'KIND', 'WHAT', 'VERSIONS'], rows, context.style)
  })
}

function row(item: OfferedService, { style }: Context): (string | Cell)[] {
  const { name, kind, label, available, reason, install } = item
  const versions = available ? offeredVersions(item) : { text: missing(reason, install), paint: style.colors.yellow }
  return [name, kind, plainText(label), versions]
}
