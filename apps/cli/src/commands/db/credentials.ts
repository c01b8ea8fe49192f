import type { Context } from '../../context.ts'
import { onlyDatabase } from '../../databases/only-database.ts'
import type { Define } from '../../define.ts'
import { projectRef } from '../../find-project.ts'
import { projectArgument } from '../../options.ts'
import { printField } from '../../output/print-field.ts'
import { fields } from '../../output/table.ts'

interface CredentialsFlags {
  readonly field?: string
}

export const defineCredentials: Define = (command, context) =>
  command
    .summary('print how to connect, with the password')
    .description('Print how to connect to a database, with the password. The audit log records every reading.')
    .argument('[project]', projectArgument)
    .argument('[name]', 'of the database; not needed when there is one')
    .option('--field <name>', 'print this one alone, exactly and without a line end')
    .action((project: string | undefined, name: string | undefined, flags: CredentialsFlags) =>
      run(context(), project, name, flags),
    )

async function run(
  context: Context,
  named: string | undefined,
  name: string | undefined,
  { field }: CredentialsFlags,
): Promise<void> {
  const client = await context.client()
  const id = await projectRef(context, named)
  const db = name ?? (await onlyDatabase(context, id))
  const found = await client.call('getDatabaseCredentials', { params: { id, db } }, { signal: context.signal })
  if (field !== undefined) return printField(context, found, field)
  context.result(found, () => {
    if (context.quiet) return found.url
    const { host, port, hostPort, database, username, password, url } = found
    const rows: [string, string][] = [
      ['URL', url],
      ['Host', host],
      ['Port', String(port)],
      ['Database', database],
      ['User', username],
      ['Password', password],
    ]
    if (hostPort !== port) rows.splice(3, 0, ['Port here', String(hostPort)])
    return fields(rows, context.style)
  })
}
