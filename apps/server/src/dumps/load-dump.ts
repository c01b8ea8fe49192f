import { randomBytes } from 'node:crypto'
import type { DumpMode } from '@stackquay/catalog'
import type { DatabaseDump } from '@stackquay/domain'
import type { StepContext } from '@stackquay/orchestrator'
import type { ProgramDeps } from '../backups/data-programs.ts'
import { bytesText } from '../backups/free-room.ts'
import { runDump } from './find-dump.ts'
import { noteText } from './note-text.ts'
import { contentFor, dumpProblem, type SeenDump } from './receive-dump.ts'

export interface LoadedDump extends Pick<SeenDump, 'format' | 'compression' | 'contentBytes' | 'notes'> {
  readonly content: AsyncIterable<Uint8Array>
  readonly mode: DumpMode
  /** `The import`, for what is told when it fails. */
  readonly act: string
}

/** Reads a dump that was looked through into a database that runs. What is left out of it, and how far it is, stands in the output. */
export async function loadDump(
  dump: DatabaseDump,
  { content, mode, act, notes, format, compression, contentBytes }: LoadedDump,
  { signal, output }: StepContext,
  deps: ProgramDeps,
): Promise<void> {
  const say = (text: string) => output({ stream: 'stdout', text: `${text}\n` })
  for (const note of notes) say(noteText(note))
  const key = randomBytes(16).toString('hex')
  const read = contentFor(content, { format, compression }, dump, {
    ...{ mode, key },
    onBytes: everySoOften((bytes) => say(`${bytesText(bytes)} of ${bytesText(contentBytes)} read`)),
  })
  const onWords = (text: string) => output({ stream: 'stderr', text })
  await runDump(dump, dump.load({ format, mode, key }), { act, input: read, onWords }, deps, signal).catch(
    (error: unknown) => {
      throw dumpProblem(error)
    },
  )
}

/** What is in the database goes, and nothing comes. */
export async function emptyDatabase(dump: DatabaseDump, context: StepContext, deps: ProgramDeps): Promise<void> {
  const format = dump.formats.find(({ magic }) => magic === undefined)?.name ?? ''
  const nothing = { content: nothingAtAll(), contentBytes: 0, compression: 'none', notes: [] } as const
  await loadDump(dump, { ...nothing, format, mode: 'replace', act: 'Emptying' }, context, deps)
}

async function* nothingAtAll(): AsyncGenerator<Uint8Array> {}

/** Tells at most every two seconds. */
export function everySoOften(tell: (bytes: number) => void): (bytes: number) => void {
  let next = Date.now() + everyMs
  return (bytes) => {
    if (Date.now() < next) return
    next = Date.now() + everyMs
    tell(bytes)
  }
}

const everyMs = 2000
