import type { LogLine } from '@stackquay/contract'
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { client } from '../../api/client.ts'
import { toastProblem } from '../../components/toast.tsx'
import { LogBuffer } from '../../lib/log-buffer.ts'
import { type LogQuery, type LogSearch, logQueryOf } from '../../lib/log-query.ts'
import { completeFrom, notHeld } from '../../lib/older-lines.ts'

type LogState = 'connecting' | 'live' | 'retrying' | 'ended'

/** As many lines as the service gives at once. */
const page = 5000

/** The log in a buffer: the newest lines from the stream, older ones when asked for. */
export function useLog(project: string, search: LogSearch, errorsOnly: boolean, following: boolean) {
  const buffer = useRef(new LogBuffer()).current
  const [, setDrawn] = useState(0)
  const draw = useCallback(() => setDrawn((count) => count + 1), [])
  const [attempt, setAttempt] = useState(0)
  const wanted = JSON.stringify(search)
  // A span is counted from when it was chosen: the reader’s “last hour” does not move while they read.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the text stands for the search; a new attempt is a new stream
  const query = useMemo(() => logQueryOf(search, Date.now()), [wanted, attempt])
  const { state, error } = useStream(project, query, buffer, draw)
  const older = useOlderLines(project, query, buffer, following)

  useEffect(() => {
    buffer.setFilter({ errorsOnly })
    draw()
  }, [buffer, errorsOnly, draw])

  return {
    buffer,
    state,
    error,
    older,
    retry: () => setAttempt((count) => count + 1),
    clear: () => {
      buffer.clear()
      draw()
    },
  }
}

/**
 * Lines come faster than a screen can be drawn: they are appended as they come and drawn once a frame; in a tab that
 * is not in sight they are appended all the same.
 */
function useStream(project: string, query: LogQuery, buffer: LogBuffer, draw: () => void) {
  const [state, setState] = useState<LogState>('connecting')
  const [error, setError] = useState<unknown>(null)
  useEffect(() => {
    const stop = new AbortController()
    const { signal } = stop
    let frame: number | null = null
    const drawSoon = () => {
      frame ??= requestAnimationFrame(() => {
        frame = null
        draw()
      })
    }
    // What the last search found stays until this one has found something, or nothing.
    let stale = true
    const fresh = () => {
      if (stale) buffer.clear()
      stale = false
    }
    // Enough time for the first lines of an empty log not to show as "no lines".
    let settle: ReturnType<typeof setTimeout> | undefined
    const show = (lines: readonly LogLine[]) => {
      fresh()
      buffer.append(lines)
      setState('live')
      drawSoon()
    }
    setError(null)
    readLines(project, query, signal, show, (next) => {
      if (next === 'live') settle = setTimeout(() => show([]), 250)
      else if (next !== 'ended') setState(next)
    }).catch((failure: unknown) => {
      if (signal.aborted) return
      fresh()
      setState('ended')
      setError(failure)
    })
    return () => {
      stop.abort()
      clearTimeout(settle)
      if (frame !== null) cancelAnimationFrame(frame)
    }
  }, [project, query, buffer, draw])
  return { state, error }
}

async function readLines(
  project: string,
  query: LogQuery,
  signal: AbortSignal,
  onLines: (lines: readonly LogLine[]) => void,
  onState: (state: LogState) => void,
): Promise<void> {
  // What ended before now does not go on: it is read once.
  if (query.until !== undefined && Date.parse(query.until) <= Date.now()) {
    onLines(await readUntil(project, query, query.until, signal))
    return
  }
  // A stream tries again when an expression takes too long; a request over as many lines says so.
  if (query.regex)
    await client.call('getProjectLogs', { params: { id: project }, query: { ...query, limit: page } }, { signal })
  await client.followLogs(project, { ...query, tail: page }, { signal, onLines, onState })
}

/** The lines before those that the stream brought, a page at a time. */
function useOlderLines(project: string, query: LogQuery, buffer: LogBuffer, following: boolean) {
  /** From when on the view has all lines: null when from the first, undefined while only the stream has brought some. */
  const [complete, setComplete] = useState<string | null>()
  const [reading, setReading] = useState(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new stream begins anew
  useEffect(() => setComplete(undefined), [project, query])

  // Looked for only when the reader has stopped to read: it goes through all lines.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the buffer is one object however many lines it holds
  const began = useMemo(() => {
    if (following) return null
    return complete === undefined ? completeFrom(buffer.lines, page) : complete
  }, [following, complete, buffer.dropped])
  const read = async () => {
    if (began === null) return
    setReading(true)
    const { dropped } = buffer
    const first = buffer.lines[0]
    try {
      const items = await readUntil(project, query, began)
      // Meanwhile the view may have been cleared, or its oldest lines given up.
      if (buffer.dropped !== dropped || buffer.lines[0] !== first) return
      const older = notHeld(items, buffer.lines)
      buffer.merge(older)
      setComplete(items.length < page || older.length === 0 ? null : items[0]!.time)
    } catch (failure) {
      toastProblem(failure)
    } finally {
      setReading(false)
    }
  }

  return {
    state: began === null || buffer.full ? 'none' : reading ? 'reading' : 'offered',
    read,
  } as const
}

/** The newest page of lines up to a time. */
async function readUntil(
  project: string,
  query: LogQuery,
  until: string,
  signal?: AbortSignal,
): Promise<readonly LogLine[]> {
  const input = { params: { id: project }, query: { ...query, until, limit: page } }
  return (await client.call('getProjectLogs', input, signal === undefined ? {} : { signal })).items
}
