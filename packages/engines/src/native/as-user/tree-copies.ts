import type { ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Account } from '../account.ts'
import type { CopiedTree, CopyTreeArgs, LaterArgs } from './copy-tree.ts'
import { FilesError, filesErrorOf } from './files-error.ts'
import { startProgram } from './helper-process.ts'
import { givingUpRights } from './restricted.ts'

const program = fileURLToPath(new URL('./copy-tree.ts', import.meta.url))

/**
 * Copies a tree with no more rights than the user has whose tree it is. `later` is asked when all is copied, and says what else is. Throws
 * `FilesError`, and what `later` throws.
 */
export async function copyTreeAsUser(
  account: Account | null,
  args: CopyTreeArgs,
  options: { readonly signal: AbortSignal; onBytes?(bytes: number): void; later?(): Promise<LaterArgs> },
): Promise<CopiedTree> {
  const { signal, onBytes, later } = options
  signal.throwIfAborted()
  const isOther = account !== null && process.getuid?.() === 0
  const ids = isOther ? [String(account.uid), String(account.gid)] : ['-', '-']
  const child = startProgram(program, [...ids, JSON.stringify(args)], isOther ? await givingUpRights() : [])
  child.on('error', () => {})
  child.stdin?.on('error', () => {})
  const gone = new Promise<void>((resolve) => {
    child.once('error', () => resolve())
    child.once('close', () => resolve())
  })
  const kill = () => child.kill('SIGKILL')
  signal.addEventListener('abort', kill, { once: true })
  if (signal.aborted) kill()
  try {
    const answer = answersOf(child, onBytes)
    const first = await answer()
    if (later === undefined) return first
    const more = await later()
    child.stdin?.write(`${JSON.stringify(more)}\n`)
    return await answer()
  } catch (error) {
    signal.throwIfAborted()
    throw error
  } finally {
    signal.removeEventListener('abort', kill)
    kill()
    // What is written to must not be removed meanwhile.
    await gone
  }
}

/** One answer after the other: lines of JSON, from a process that a program of its user may have killed. */
function answersOf(child: ChildProcess, onBytes: ((bytes: number) => void) | undefined): () => Promise<CopiedTree> {
  let complaint = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    if (complaint.length < 2000) complaint += text
  })
  if (child.stdout === null) throw new FilesError('broken')
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return async () => {
    for (;;) {
      const { value, done: isOver } = await lines.next()
      if (isOver === true) throw new FilesError('broken', undefined, { cause: new Error(complaint.trim()) })
      const { bytes, done, error } = lineOf(value)
      if (typeof bytes === 'number') onBytes?.(bytes)
      if (error !== undefined) throw filesErrorOf(error)
      if (typeof done?.clonedBytes === 'number' && typeof done.copiedBytes === 'number') return done
    }
  }
}

function lineOf(line: string): {
  readonly bytes?: unknown
  readonly done?: CopiedTree
  readonly error?: unknown
} {
  try {
    const found: unknown = JSON.parse(line)
    return typeof found === 'object' && found !== null ? found : {}
  } catch {
    return {}
  }
}
