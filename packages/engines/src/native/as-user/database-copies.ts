import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Account } from '../account.ts'
import { type CopiedDatabases, type CopyDatabasesArgs, placeNames } from './copy-databases.ts'
import { FilesError, filesErrorOf } from './files-error.ts'
import { startProgram } from './helper-process.ts'
import { givingUpRights } from './restricted.ts'
import { runAsUser } from './run-as-user.ts'

/** Consistent copies of the databases of a folder, for an archive of it. */
export interface DatabaseCopies {
  /** Of tar: what is left out of the folder, and what is put in its place. */
  readonly excluding: readonly string[]
  readonly adding: readonly string[]
  readonly warnings: readonly string[]
  /** Removes them. */
  end(): Promise<void>
}

const program = fileURLToPath(new URL('./copy-databases.ts', import.meta.url))
/** Of disk, not of memory as /tmp may be. */
const copiesBelow = '/var/tmp'
const mostAnswer = 4 << 20

export async function makeDatabaseCopies(
  account: Account | null,
  { root, without }: Pick<CopyDatabasesArgs, 'root' | 'without'>,
  signal: AbortSignal,
): Promise<DatabaseCopies> {
  signal.throwIfAborted()
  const place = `${copiesBelow}/stackquay-${randomBytes(12).toString('hex')}`
  const child = await startFor(account, { root, without, place })
  const end = async (): Promise<void> => {
    child.stdin?.end()
    await gone(child)
    // It may have been killed before it could remove them itself.
    await runAsUser(account, ['rm', '-rf', '--', place], { timeoutMs: 120_000 })
  }
  const kill = () => child.kill('SIGKILL')
  signal.addEventListener('abort', kill, { once: true })
  if (signal.aborted) kill()
  try {
    const { copies, leftOut, warnings } = await answerOf(child)
    return {
      excluding: leftOut === 0 ? [] : [`--exclude-from=${place}/${placeNames.excluded}`],
      adding:
        copies === 0
          ? []
          : ['-C', `${place}/${placeNames.copies}`, '--null', `--files-from=${place}/${placeNames.list}`],
      warnings,
      end,
    }
  } catch (error) {
    kill()
    await end()
    signal.throwIfAborted()
    throw error
  } finally {
    signal.removeEventListener('abort', kill)
  }
}

async function startFor(account: Account | null, args: CopyDatabasesArgs): Promise<ChildProcess> {
  const isOther = account !== null && process.getuid?.() === 0
  const ids = isOther ? [String(account.uid), String(account.gid)] : ['-', '-']
  const child = startProgram(program, [...ids, JSON.stringify(args)], isOther ? await givingUpRights() : [])
  child.on('error', () => {})
  child.stdin?.on('error', () => {})
  return child
}

/** One line of JSON, from a process that a program of its user may have killed. */
async function answerOf(child: ChildProcess): Promise<CopiedDatabases> {
  let complaint = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    if (complaint.length < 2000) complaint += text
  })
  const parts: Buffer[] = []
  let size = 0
  for await (const chunk of (child.stdout ?? []) as AsyncIterable<Buffer>) {
    parts.push(chunk)
    size += chunk.length
    if (chunk.at(-1) === 0x0a || size > mostAnswer) break
  }
  try {
    const answer = JSON.parse(Buffer.concat(parts).toString('utf8')) as Partial<CopiedDatabases> & {
      readonly error?: unknown
      readonly message?: unknown
    }
    if (answer.error !== undefined) throw filesErrorOf(answer.error)
    const { copies, leftOut, warnings } = answer
    if (
      typeof copies === 'number' &&
      typeof leftOut === 'number' &&
      warnings?.every((text) => typeof text === 'string')
    )
      return { copies, leftOut, warnings }
  } catch (error) {
    if (error instanceof FilesError) throw error
  }
  throw new FilesError('broken', undefined, { cause: new Error(complaint.trim()) })
}

async function gone(child: ChildProcess): Promise<void> {
  if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) await once(child, 'exit')
}
