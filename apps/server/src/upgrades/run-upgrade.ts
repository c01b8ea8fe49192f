import { clientMissing } from '@stackquay/catalog'
import { ProblemError } from '@stackquay/contract'
import type { DatabaseUpgrade, DataProgram } from '@stackquay/domain'
import type { StepContext } from '@stackquay/orchestrator'
import { outputOf, type ProgramDeps } from '../backups/data-programs.ts'

type Upgrade = Pick<DatabaseUpgrade, 'old' | 'install'>

/** What one of its programs prints. Throws with its words when it fails. */
export async function runUpgrade(
  upgrade: Upgrade,
  program: DataProgram,
  { signal, output }: StepContext,
  deps: ProgramDeps,
): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of printed(upgrade, program, { signal, output }, deps)) {
    length += chunk.length
    if (length > mostPrinted) throw new ProblemError('job_failed', 'A program of the upgrade printed too much.')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** Counts of very many tables. */
const mostPrinted = 64 * 1024 * 1024

/**
 * What one program writes goes into the other, and nothing lies in between. However it ends, both have ended: the servers that they
 * started hold the data until then.
 */
export async function carryOver(
  upgrade: Upgrade,
  { read, write }: { readonly read: DataProgram; readonly write: DataProgram },
  onBytes: (bytes: number) => void,
  context: StepContext,
  deps: ProgramDeps,
): Promise<void> {
  const over = new AbortController()
  const reading = { ...context, signal: AbortSignal.any([context.signal, over.signal]) }
  let failed: unknown = null
  async function* content(): AsyncGenerator<Buffer> {
    let bytes = 0
    try {
      for await (const chunk of printed(upgrade, read, reading, deps)) {
        bytes += chunk.length
        onBytes(bytes)
        yield chunk
      }
    } catch (error) {
      if (!over.signal.aborted) failed = error
      throw error
    }
  }
  const input = content()
  try {
    const written = printed(upgrade, write, context, deps, input)
    for await (const _chunk of written);
  } catch (error) {
    // Where the first of them failed, the second one says only that its input ended.
    throw failed ?? error
  } finally {
    over.abort()
    await input.return(undefined).catch(() => undefined)
  }
}

function printed(
  { old, install }: Upgrade,
  program: DataProgram,
  { signal, output }: StepContext,
  deps: ProgramDeps,
  input?: AsyncIterable<Uint8Array>,
): AsyncGenerator<Buffer> {
  const failed = (code: number | null, words: string) =>
    code === clientMissing
      ? new ProblemError('engine_cannot', words, { hint: `Debian and Ubuntu: ${install}` })
      : new ProblemError('job_failed', `The upgrade of ${old.title} failed: ${reasonIn(words)}`, {
          hint: 'The version and the data from before are kept. See the last lines of its output.',
          extensions: { logTail: words.split('\n').slice(-20) },
        })
  const onWords = (text: string) => output({ stream: 'stderr', text })
  return outputOf(
    program,
    { project: old.ref.project, failed, onWords, ...(input === undefined ? {} : { input }) },
    deps,
    signal,
  )
}

function reasonIn(words: string): string {
  const lines = words.split('\n').filter((line) => line.trim() !== '')
  return lines.find((line) => /error|fatal/i.test(line)) ?? lines.at(-1) ?? 'it gave no reason'
}
