import type { ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Account } from '../account.ts'
import type { CopiedTree, CopyTreeArgs } from './copy-tree.ts'
import { FilesError, filesErrorOf } from './files-error.ts'
import { startProgram } from './helper-process.ts'
import { givingUpRights } from './restricted.ts'

const program = fileURLToPath(new URL('./copy-tree.ts', import.meta.url))

/** Copies a tree with no more rights than the user has whose tree it is. Throws `FilesError`. */
export async function copyTreeAsUser(
  account: Account | null,
  args: CopyTreeArgs,
  { signal, onBytes }: { readonly signal: AbortSignal; onBytes?(bytes: number): void },
): Promise<CopiedTree> {
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
    const copied = await answerOf(child, onBytes)
    signal.throwIfAborted()
    return copied
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

/** Lines of JSON, from a process that a program of its user may have killed. */
async function answerOf(child: ChildProcess, onBytes: ((bytes: number) => void) | undefined): Promise<CopiedTree> {
  let complaint = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    if (complaint.length < 2000) complaint += text
  })
  if (child.stdout !== null) {
    for await (const line of createInterface({ input: child.stdout })) {
      const { bytes, done, error } = lineOf(line)
      if (typeof bytes === 'number') onBytes?.(bytes)
      if (error !== undefined) throw filesErrorOf(error)
      if (typeof done?.clonedBytes === 'number' && typeof done.copiedBytes === 'number') return done
    }
  }
  throw new FilesError('broken', undefined, { cause: new Error(complaint.trim()) })
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
