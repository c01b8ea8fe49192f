import type { Engine } from '@stackquay/engine-api'
import type { LogFilter } from './log-filter.ts'
import type { LogPosition } from './log-position.ts'
import { openLogReader } from './log-reader.ts'
import { jsonOf, textOf } from './log-slices.ts'

export interface Download {
  readonly engine: Pick<Engine, 'logBatches'>
  readonly project: string
  readonly names: readonly string[]
  readonly fits: LogFilter | null
  readonly since?: string | undefined
  readonly until?: string | undefined
  readonly format: 'text' | 'jsonl'
  readonly signal: AbortSignal
}

/** All kept lines that fit, in the order of time, made as they are taken. Ends when the reader leaves. */
export async function* downloadOf(download: Download): AsyncGenerator<Buffer> {
  const { engine, project, names, fits, until, format, signal } = download
  const from: LogPosition = { time: download.since ?? null, cursors: {} }
  const reader = openLogReader({ engine, project, names: () => names, from, fits, follow: false, until })
  try {
    for (;;) {
      const chunk = await reader.next(signal)
      if (chunk === null) return
      yield* format === 'jsonl' ? jsonOf(chunk.slices, chunk.from, inLines) : textOf(chunk.slices, inLines)
    }
  } finally {
    await reader.close()
  }
}

const inLines = { start: '', between: '\n', end: '\n' }

/** A name is the project's slug, which has nothing in it that a header or a file system could take amiss. */
export function downloadHeaders(
  slug: string,
  workload: string | undefined,
  format: Download['format'],
): Record<string, string> {
  const name = [slug, workload, 'logs'].filter((part) => part !== undefined).join('-')
  const safe = name.replace(/[^a-zA-Z0-9_-]/g, '-')
  return {
    'content-type': format === 'jsonl' ? 'application/jsonl; charset=utf-8' : 'text/plain; charset=utf-8',
    'content-disposition': `attachment; filename="${safe}.${format === 'jsonl' ? 'jsonl' : 'txt'}"`,
  }
}
