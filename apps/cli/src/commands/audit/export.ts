import { open, rename, rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import { refuse, send } from '@stackquay/client/transport'
import { Option } from 'commander'
import type { Context } from '../../context.ts'
import { CliError } from '../../errors.ts'
import { exitCodes } from '../../exit-codes.ts'
import { writeBytes } from '../../output/write-bytes.ts'
import type { Define } from '../index.ts'
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
    .addHelpText('after', '\nThe export itself stands in the audit log.')
    .action((flags: ExportFlags) => run(context(), flags))

async function run(context: Context, flags: ExportFlags): Promise<void> {
  const chunks = await entries(context, flags)
  if (flags.output === undefined || flags.output === '-') return writeBytes(context, chunks)
  const file = resolve(context.world.cwd, flags.output)
  const bytes = await toFile(file, chunks)
  context.note(`${context.noteStyle.colors.green('✔')} ${flags.output} is written, ${bytes} bytes`)
  context.result({ file, bytes }, () => '')
}

async function entries(context: Context, flags: ExportFlags): Promise<AsyncIterable<Uint8Array>> {
  const connection = await context.connection()
  const query = { format: flags.format, ...auditFilters(context, flags) }
  const response = await send(connection, { method: 'GET', path: '/audit/export', query }, { signal: context.signal })
  if (!response.ok || response.body === null) return refuse(connection, response)
  return whole(response.body, context.signal)
}

/** A service that goes away in the middle must not leave something that looks like the log. */
async function* whole(body: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    yield* body
  } catch (error) {
    signal.throwIfAborted()
    throw new CliError('The export broke off before its end.', {
      exitCode: exitCodes.unreachable,
      hint: 'What has come is not the whole log. Check that the service runs, and try again.',
      cause: error,
    })
  }
}

/** Under another name until it is whole. Answers its size in bytes. */
async function toFile(file: string, chunks: AsyncIterable<Uint8Array>): Promise<number> {
  const unfinished = `${file}.part`
  let bytes = 0
  try {
    await using handle = await open(unfinished, 'w', 0o600).catch((error: Error) => {
      throw new CliError(`The file cannot be written: ${error.message}`, { exitCode: exitCodes.failed })
    })
    for await (const chunk of chunks) {
      await handle.writeFile(chunk)
      bytes += chunk.length
    }
    await handle.sync()
  } catch (error) {
    await rm(unfinished, { force: true })
    throw error
  }
  await rename(unfinished, file)
  return bytes
}
