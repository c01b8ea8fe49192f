import { openAsBlob } from 'node:fs'
import { open } from 'node:fs/promises'
import { resolve } from 'node:path'
import { ApiError } from '@stackquay/client'
import type { DatabaseImport, DumpNote, Plan } from '@stackquay/contract'
import type { Context } from '../../context.ts'
import { onlyDatabase } from '../../databases/only-database.ts'
import { transferred } from '../../databases/transfer.ts'
import type { Define } from '../../define.ts'
import { usageError } from '../../errors.ts'
import { finishOperation, type WaitFlags } from '../../finish-operation.ts'
import { addWaitOptions } from '../../options.ts'
import { plainText } from '../../output/plain-text.ts'
import { planText } from '../../output/plan-text.ts'
import { confirmByName, refuseUnconfirmed } from '../../prompt.ts'

interface ImportFlags extends WaitFlags {
  readonly input?: string
  readonly replace?: boolean
  readonly append?: boolean
  readonly confirm?: string
  readonly dryRun?: boolean
}

type Send =
  | { readonly blob: Blob }
  | { readonly stream: { readonly bytes: AsyncIterable<Uint8Array>; readonly type: string } }

const type = 'application/octet-stream'

export const defineImport: Define = (command, context) => {
  command
    .summary('bring a dump into a database')
    .description(
      'Bring a dump from standard input into a database: SQL or what "stq db export" writes, plain, gzip or zstd. What was there is backed up first.',
    )
    .argument('<project>', 'id or slug')
    .argument('[name]', 'of the database; not needed when there is one')
    .option('-i, --input <file>', 'the file to read instead of standard input')
    .option('--replace', 'what is in the database goes')
    .option('--append', 'what is in the database stays')
    .option('--confirm <name>', 'with --replace: the database’s name, typed; asked for on a terminal')
    .option('--dry-run', 'look through the dump and show what would happen, and do nothing')
    .addHelpText(
      'after',
      '\nstq db import shop < shop.sql.gz\nstq db import shop -i shop.sql --replace\n\nWhat names other databases, roles or files is left out, and told.',
    )
  addWaitOptions(command).action((project: string, name: string | undefined, flags: ImportFlags) =>
    run(context(), project, name, flags),
  )
}

async function run(context: Context, id: string, name: string | undefined, flags: ImportFlags): Promise<void> {
  const { world, signal } = context
  if (flags.replace === true && flags.append === true) throw usageError('Either --replace or --append.')
  if (flags.input === undefined && world.stdin.isTTY === true)
    throw usageError('There is no dump.', `stq db import ${id} < dump.sql, or -i dump.sql`)
  const client = await context.client()
  const db = name ?? (await onlyDatabase(context, id))
  const mode = flags.replace === true ? 'replace' : flags.append === true ? 'append' : undefined
  if (mode === 'replace' && flags.dryRun !== true) refuseUnconfirmed(world, db, flags.confirm)
  const path = `/projects/${encodeURIComponent(id)}/databases/${encodeURIComponent(db)}/import`
  const post = async (query: Readonly<Record<string, string | boolean | undefined>>, sent: Send) =>
    (await client.request({ method: 'POST', path, query: { mode, ...query }, ...sent }, { signal }).catch(inFlags(db)))
      .data
  if (flags.dryRun === true) {
    const plan = (await post({ dryRun: true }, await dumpOf(context, flags))) as Plan
    return context.result(plan, () => planText(plan, context.style.colors))
  }
  // Whatever keeps it from being imported is told before it is sent.
  const plan = (await post({ dryRun: true }, { blob: new Blob([], { type }) })) as Plan
  if (mode === 'replace') {
    context.note(planText(plan, context.noteStyle.colors))
    const { bold, red } = context.noteStyle.colors
    const warning = `This ${red('replaces')} what is in the database ${bold(db)} of ${id}.`
    await confirmByName(world, db, flags.confirm, warning)
  }
  const confirm = mode === 'replace' ? { confirm: db } : {}
  const imported = (await post(confirm, await dumpOf(context, flags))) as DatabaseImport
  for (const note of imported.notes) context.note(noteText(note))
  if (imported.backup !== null) context.note(`What was there is backed up first: ${imported.backup}`)
  if (flags.wait === false)
    return context.result(imported, () =>
      context.quiet ? imported.operation.id : `The service has taken it on: ${imported.operation.id}`,
    )
  const operation = await finishOperation(context, imported.operation, flags)
  context.note(`${context.noteStyle.colors.green('✔')} The dump is imported into ${db} of ${id}`)
  if (context.json) context.result({ ...imported, operation }, () => '')
}

/** The service names its parameter for what is to become of the rows that are there. */
function inFlags(db: string) {
  return (error: unknown): never => {
    if (error instanceof ApiError && error.problem.errors?.some(({ pointer }) => pointer === '?mode') === true)
      throw usageError(
        `The database "${db}" is not empty.`,
        'Say --append (what is there stays) or --replace (what is there goes).',
      )
    throw error
  }
}

/** Read as it is sent, whatever its size. */
async function dumpOf(context: Context, { input }: ImportFlags): Promise<Send> {
  const { world } = context
  if (input === undefined || input === '-')
    return { stream: { bytes: transferred(context, 'Sent', world.stdin), type } }
  const file = resolve(world.cwd, input)
  try {
    await using handle = await open(file, 'r')
    if (!(await handle.stat()).isFile()) throw new Error(`${file} is not a file`)
    return { blob: await openAsBlob(file, { type }) }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw usageError(`The dump cannot be read: ${reason}`)
  }
}

function noteText({ text, count, lines }: DumpNote): string {
  const where = `${count === 1 ? 'line' : 'lines'} ${lines.slice(0, 5).join(', ')}${count > 5 ? ', …' : ''}`
  return `Left out: ${plainText(text)} (${where}${count === 1 ? '' : `; ${count} times`})`
}
