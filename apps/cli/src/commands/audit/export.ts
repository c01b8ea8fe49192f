import { resolve } from 'node:path'
import { refuse, send } from '@stackquay/client/transport'
import { Option } from 'commander'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { whole, writeWholeFile } from '../../output/whole-file.ts'
import { writeBytes } from '../../output/write-bytes.ts'
import { type AuditFlags, addAuditFilters, auditFilters } from './filters.ts'

const formats = ['jsonl', 'csv'] as const

interface ExportFlags extends AuditFlags {
  readonly format: (typeof formats)[number]
  readonly output?: string
}

export const defineExport: Define = (command, context) =>
  addAuditFilters(command)
    .summary('write the log as JSON Lines or CSV, oldest first')
    .description('Write the entries as JSON Lines or CSV, oldest first, however many there are.')
    .addOption(new Option('--format <format>', 'the form of the file').choices(formats).default('jsonl'))
    .option('-o, --output <file>', 'the file to write, readable for you alone; else standard output')
    .addHelpText('after', '\nThe audit log records the export itself.')
    .action((flags: ExportFlags) => run(context(), flags))

async function run(context: Context, flags: ExportFlags): Promise<void> {
  const chunks = await entries(context, flags)
  if (flags.output === undefined || flags.output === '-') return writeBytes(context, chunks)
  const file = resolve(context.world.cwd, flags.output)
  const bytes = await writeWholeFile(file, chunks)
  context.note(`${context.noteStyle.colors.green('✔')} ${flags.output} is written, ${bytes} bytes`)
  context.result({ file, bytes }, () => '')
}

async function entries(context: Context, flags: ExportFlags): Promise<AsyncIterable<Uint8Array>> {
  const connection = await context.connection()
  const query = { format: flags.format, ...auditFilters(context, flags) }
  const response = await send(connection, { method: 'GET', path: '/audit/export', query }, { signal: context.signal })
  if (!response.ok || response.body === null) return refuse(connection, response)
  return whole('The export', response.body, context.signal)
}
