import { openAsBlob } from 'node:fs'
import { open } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { ApiError } from '@stackquay/client'
import { refuse, send } from '@stackquay/client/transport'
import type { FileWritten } from '@stackquay/contract'
import type { Context } from '../../context.ts'
import { transferred } from '../../databases/transfer.ts'
import type { Define } from '../../define.ts'
import { CliError, usageError } from '../../errors.ts'
import { exitCodes } from '../../exit-codes.ts'
import { plainText } from '../../output/plain-text.ts'
import { size } from '../../output/size.ts'

interface PutFlags {
  readonly force?: boolean
}

const type = 'application/octet-stream'

export const definePut: Define = (command, context) =>
  command
    .summary('put a file into a project')
    .description('Put a file into a project, whole or not at all. What is there stays, unless you say --force.')
    .argument('<project>', 'id or slug')
    .argument('<file>', 'the file here; "-" for standard input')
    .argument('[path]', 'where to, from the folder of the project on: src/app.ts, or src/ for its own name in there')
    .option('--force', 'replace the file that is there, if nobody changes it meanwhile')
    .action((project: string, file: string, path: string | undefined, flags: PutFlags) =>
      run(context(), project, file, path, flags),
    )

async function run(
  context: Context,
  id: string,
  file: string,
  given: string | undefined,
  { force = false }: PutFlags,
): Promise<void> {
  if (file === '-' && (given === undefined || given.endsWith('/')))
    throw usageError('What is it called?', `stq files put ${id} - notes.txt`)
  const path = given === undefined || given.endsWith('/') ? `${given ?? ''}${basename(file)}` : given
  const content = await contentOf(context, file)
  const client = await context.client()
  const address = `/projects/${encodeURIComponent(id)}/files/content`
  const mark = force ? await markOf(context, address, path) : null
  const condition = mark === null ? { ifNoneMatch: '*' as const } : { ifMatch: mark }
  const { data } = await client
    .request({ method: 'PUT', path: address, query: { path }, ...content }, { signal: context.signal, ...condition })
    .catch(inFlags(path, force))
  const written = data as FileWritten
  context.note(
    `${context.noteStyle.colors.green('✔')} ${plainText(written.path)} is ${mark === null ? 'made' : 'replaced'}, ${size(written.size)}`,
  )
  if (context.json) context.result(written, () => '')
}

/** Of what is there now; null when there is nothing. */
async function markOf(context: Context, address: string, path: string): Promise<string | null> {
  const connection = await context.connection()
  const wanted = { method: 'GET', path: address, query: { path } } as const
  const response = await send(connection, wanted, { signal: context.signal })
  if (response.status === 404) {
    const error = await refuse(connection, response).catch((thrown: unknown) => thrown)
    // Of the project that is not there the write says it.
    if (error instanceof ApiError) return null
    throw error
  }
  if (!response.ok) return refuse(connection, response)
  await response.body?.cancel()
  return response.headers.get('etag')
}

/** The service names its headers for what is to become of the file that is there. */
function inFlags(path: string, force: boolean) {
  return (error: unknown): never => {
    if (!(error instanceof ApiError) || error.problem.code !== 'precondition_failed') throw error
    const shown = plainText(path)
    throw new CliError(force ? `Somebody else changed "${shown}" meanwhile.` : `There is a "${shown}" already.`, {
      exitCode: exitCodes.failed,
      hint: force ? 'Look at it, then try again.' : 'Choose another path, or replace it with --force.',
      cause: error,
    })
  }
}

/** Read as it is sent, whatever its size. */
async function contentOf(context: Context, file: string) {
  const { world } = context
  if (file === '-') return { stream: { bytes: transferred(context, 'Sent', world.stdin), type } }
  const path = resolve(world.cwd, file)
  try {
    await using handle = await open(path, 'r')
    if (!(await handle.stat()).isFile()) throw new Error(`${file} is not a file`)
    return { blob: await openAsBlob(path, { type }) }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw usageError(`The file cannot be read: ${reason}`)
  }
}
