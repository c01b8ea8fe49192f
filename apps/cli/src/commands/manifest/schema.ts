import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { jsonText } from '../../output/json.ts'

export const defineSchema: Define = (command, context) =>
  command
    .summary('print the JSON Schema of a stackquay.yml')
    .description('Print the JSON Schema of a stackquay.yml, with which editors complete and check it.')
    .addHelpText('after', '\nIt needs no login.')
    .action(() => run(context()))

async function run(context: Context): Promise<void> {
  const client = await context.publicClient()
  const schema = await client.call('getManifestSchema', {}, { signal: context.signal })
  context.result(schema, () => jsonText(schema, 2))
}
