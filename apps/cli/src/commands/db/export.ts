import { resolve } from 'node:path'
import { refuse, send } from '@stackquay/client/transport'
import type { Context } from '../../context.ts'
import { onlyDatabase } from '../../databases/only-database.ts'
import { transferred } from '../../databases/transfer.ts'
import type { Define } from '../../define.ts'
import { usageError } from '../../errors.ts'
import { projectRef } from '../../find-project.ts'
import { projectArgument } from '../../options.ts'
import { size } from '../../output/size.ts'
import { whole, writeWholeFile } from '../../output/whole-file.ts'
import { writeBytes } from '../../output/write-bytes.ts'

interface ExportFlags {
  readonly output?: string
  readonly format: string
  readonly compress: string
}

export const defineExport: Define = (command, context) =>
  command
    .summary('write a database as a dump')
    .description(
      'Write a database as a dump to standard output, while it runs. Anything but exit code 0: it is not whole.',
    )
    .argument('[project]', projectArgument)
    .argument('[name]', 'of the database; not needed when there is one')
    .option('-o, --output <file>', 'the file to write, readable for you alone and only there when it is whole')
    .option('--format <format>', 'sql, or custom: the format of its own programs, where it has one', 'sql')
    .option('--compress <how>', 'gzip, zstd or none', 'none')
    .addHelpText('after', '\nstq db export shop > shop.sql\nstq db export shop --compress zstd -o shop.sql.zst')
    .action((project: string | undefined, name: string | undefined, flags: ExportFlags) =>
      run(context(), project, name, flags),
    )

async function run(
  context: Context,
  named: string | undefined,
  name: string | undefined,
  { output, format, compress }: ExportFlags,
): Promise<void> {
  const toTerminal = output === undefined && context.world.stdout.isTTY === true
  if (toTerminal && (format !== 'sql' || compress !== 'none'))
    throw usageError('This is no text for a terminal.', 'Send it to a file: -o <file>, or > <file>')
  const id = await projectRef(context, named)
  const db = name ?? (await onlyDatabase(context, id))
  const connection = await context.connection()
  const path = `/projects/${encodeURIComponent(id)}/databases/${encodeURIComponent(db)}/export`
  const wanted = { method: 'GET', path, query: { format, compress } } as const
  const response = await send(connection, wanted, { signal: context.signal })
  if (!response.ok || response.body === null) return refuse(connection, response)
  const chunks = transferred(context, 'Exported', whole('The export', response.body, context.signal))
  if (output === undefined || output === '-') return writeBytes(context, chunks)
  const file = resolve(context.world.cwd, output)
  const bytes = await writeWholeFile(file, chunks)
  context.note(`${context.noteStyle.colors.green('✔')} ${db} of ${id} is exported, ${size(bytes)}`)
  context.result({ file, bytes, database: db }, () => '')
}
