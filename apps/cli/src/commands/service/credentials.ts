import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { serviceWithCredentials } from '../../offered.ts'
import { plainText } from '../../output/plain-text.ts'
import { printField } from '../../output/print-field.ts'
import { fields } from '../../output/table.ts'

interface CredentialsFlags {
  readonly field?: string
}

export const defineCredentials: Define = (command, context) =>
  command
    .summary('print how to connect, with the secrets')
    .description('Print how to connect to a service, with its secrets. The audit log records every reading.')
    .argument('<project>', 'id or slug')
    .argument('<service>', 'see: stq service list')
    .option('--field <name>', 'print this one alone, exactly and without a line end')
    .action((project: string, service: string, flags: CredentialsFlags) => run(context(), project, service, flags))

async function run(context: Context, id: string, name: string, { field }: CredentialsFlags): Promise<void> {
  const client = await context.client()
  const { name: service, under } = await serviceWithCredentials(context, id, name)
  const { signal } = context
  const found =
    under === undefined
      ? await client.call('getServiceCredentials', { params: { id, service } }, { signal })
      : await client.call('getAddonCredentials', { params: { id, name: service } }, { signal })
  if (field !== undefined) return printField(context, found, field)
  context.result(found, () => {
    if (context.quiet && typeof found.url === 'string') return found.url
    const rows = Object.entries(found).map(([name, value]): [string, string] => [name, shown(value)])
    return context.quiet ? rows.map(([name, value]) => `${name}=${value}`).join('\n') : fields(rows, context.style)
  })
}

function shown(value: unknown): string {
  return value === null ? '-' : plainText(String(value))
}
