import { refuse, send } from '@stackquay/client/transport'
import { Option } from 'commander'
import type { Context } from '../../context.ts'
import { onlyDatabase } from '../../databases/only-database.ts'
import { queryText } from '../../databases/query-text.ts'
import type { Define } from '../../define.ts'
import { usageError } from '../../errors.ts'
import { projectRef } from '../../find-project.ts'
import { projectArgument } from '../../options.ts'
import { writeBytes } from '../../output/write-bytes.ts'
import { readAllInput } from '../../prompt.ts'

interface QueryFlags {
  readonly execute?: string
  readonly write?: boolean
  readonly explain?: boolean
  readonly maxRows: string
  readonly timeLimit?: string
  readonly format?: 'csv' | 'json'
}

export const defineQuery: Define = (command, context) =>
  command
    .summary('run one SQL statement')
    .description(
      'Run one SQL statement: of --execute, or of standard input. The server refuses what writes unless --write says so.',
    )
    .argument('[project]', projectArgument)
    .argument('[name]', 'of the database; not needed when there is one')
    .option('-e, --execute <sql>', 'the statement')
    .option('--write', 'as the database’s own user, committed at once')
    .option('--explain', 'its plan instead')
    .option('--max-rows <rows>', 'at most 10000', '500')
    .option('--time-limit <seconds>', 'at most 600; 30 by default')
    .addOption(new Option('--format <format>', 'all rows, as a file on standard output').choices(['csv', 'json']))
    .addHelpText(
      'after',
      '\nstq db query shop -e "SELECT * FROM book LIMIT 5"\nstq db query shop main --format csv < report.sql > report.csv',
    )
    .action((project: string | undefined, name: string | undefined, flags: QueryFlags) =>
      run(context(), project, name, flags),
    )

async function run(
  context: Context,
  named: string | undefined,
  name: string | undefined,
  { execute, write = false, explain = false, maxRows, timeLimit, format }: QueryFlags,
): Promise<void> {
  const limit = timeLimit === undefined ? {} : { timeLimit: wholeNumber('--time-limit', timeLimit) }
  if (format !== undefined && (write || explain)) throw usageError('--format goes with statements that read.')
  if (execute === undefined && context.world.stdin.isTTY === true)
    throw usageError(
      'There is no statement.',
      'Give one: -e "SELECT 1", or send it to standard input. A prompt: stq db shell',
    )
  const id = await projectRef(context, named)
  const db = name ?? (await onlyDatabase(context, id))
  const sql = execute ?? (await readAllInput(context.world))
  if (format !== undefined) return exported(context, { id, db }, { sql, format, ...limit })
  const client = await context.client()
  const body = {
    sql,
    write,
    maxRows: wholeNumber('--max-rows', maxRows),
    ...limit,
    ...(explain ? { explain: 'plan' as const } : {}),
  }
  const result = await client.call('queryDatabase', { params: { id, db }, body }, { signal: context.signal })
  context.result(result, () => queryText(result, context.style))
}

async function exported(
  context: Context,
  { id, db }: { readonly id: string; readonly db: string },
  body: { readonly sql: string; readonly format: 'csv' | 'json'; readonly timeLimit?: number },
): Promise<void> {
  const connection = await context.connection()
  const path = `/projects/${encodeURIComponent(id)}/databases/${encodeURIComponent(db)}/query/export`
  const response = await send(connection, { method: 'POST', path, body }, { signal: context.signal })
  if (!response.ok || response.body === null) return refuse(connection, response)
  return writeBytes(context, response.body)
}

function wholeNumber(option: string, text: string): number {
  if (/^\d{1,6}$/.test(text)) return Number(text)
  throw usageError(`${option} needs a whole number, not "${text}".`)
}
