import { ProblemError } from '@stackquay/contract'
import type { DataProgram } from '@stackquay/domain'
import { outputOf, type ProgramDeps } from '../backups/data-programs.ts'

/** What is done with an archive, for people: `Looking at the archive of PostgreSQL main`. */
export interface ProgramRun {
  readonly project: string
  readonly what: string
  readonly signal: AbortSignal
  /** What it says on standard error. */
  onWords?(text: string): void
}

/** The JSON that a program of an archive prints. Throws `job_failed` with its words when it fails. */
export async function askArchive<Answer>(program: DataProgram, run: ProgramRun, deps: ProgramDeps): Promise<Answer> {
  const text = await printed(program, run, deps)
  try {
    return JSON.parse(text) as Answer
  } catch {
    throw failure(run.what, 'it printed something that is not known')
  }
}

/** One that prints nothing. */
export async function tellArchive(program: DataProgram, run: ProgramRun, deps: ProgramDeps): Promise<void> {
  await printed(program, run, deps)
}

async function printed(program: DataProgram, { project, what, signal, onWords }: ProgramRun, deps: ProgramDeps) {
  const chunks: Buffer[] = []
  let length = 0
  const failed = (_code: number | null, words: string) => failure(what, reasonIn(words), words)
  const use = { project, failed, ...(onWords === undefined ? {} : { onWords }) }
  for await (const chunk of outputOf(program, use, deps, signal)) {
    length += chunk.length
    if (length > mostPrinted) throw failure(what, 'it printed too much')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** A log with thousands of gaps. */
const mostPrinted = 4 * 1024 * 1024

function failure(what: string, reason: string, words = ''): ProblemError {
  return new ProblemError('job_failed', `${what} failed: ${reason}`, {
    hint: 'Look at the log of the database and at the disk, then try again.',
    extensions: { logTail: words.split('\n').slice(-20) },
  })
}

function reasonIn(words: string): string {
  const lines = words.split('\n').filter((line) => line.trim() !== '')
  return lines.find((line) => /ends before|damaged|fatal|error/i.test(line)) ?? lines.at(-1) ?? 'it gave no reason'
}
