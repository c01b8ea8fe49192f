import type { Run } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { client } from '../api/client.ts'
import { queryClient } from '../api/query-client.ts'
import { runQuery } from '../api/runs.ts'
import { RunOutput } from '../lib/run-output.ts'
import { newerRun } from '../lib/runs.ts'

export type FollowingState = 'connecting' | 'live' | 'retrying' | 'ended'

/**
 * A run and what it prints, from its beginning. The run goes on whether or not this page looks; after a reload or a lost
 * connection the output is read on from where it was.
 */
export function useRun(project: string, id: string) {
  const query = useQuery(runQuery(project, id))
  const output = useRef(new RunOutput()).current
  const [, draw] = useState(0)
  const [state, setState] = useState<FollowingState>('connecting')
  const [error, setError] = useState<unknown>(null)
  const [attempt, setAttempt] = useState(0)
  /** Bytes of output that are no longer kept. */
  const [missing, setMissing] = useState(0)

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new attempt is a new stream
  useEffect(() => {
    const stop = new AbortController()
    let frame: number | null = null
    const drawSoon = () => {
      frame ??= requestAnimationFrame(() => {
        frame = null
        draw((count) => count + 1)
      })
    }
    const hold = (run: Run) =>
      queryClient.setQueryData(runQuery(project, id).queryKey, (held: Run | undefined) => newerRun(held, run))
    output.clear()
    setError(null)
    setMissing(0)
    client
      .followRun(project, id, {
        signal: stop.signal,
        onState: setState,
        onFrame: (step) => {
          if (step.type === 'output') {
            output.append(step)
            drawSoon()
            return
          }
          if (step.type === 'gap') {
            setMissing((bytes) => bytes + step.bytes)
            return
          }
          if (!('run' in step)) return
          hold(step.run)
          if (step.type === 'result') {
            void queryClient.invalidateQueries({ queryKey: [...runQuery(project, id).queryKey, 'cases'] })
          }
        },
      })
      .then(drawSoon)
      .catch((failure: unknown) => {
        if (!stop.signal.aborted) setError(failure)
      })
    return () => {
      stop.abort()
      if (frame !== null) cancelAnimationFrame(frame)
    }
  }, [project, id, output, attempt])

  return {
    run: query.data,
    error: query.error ?? error,
    output,
    state,
    missing,
    retry: () => {
      void query.refetch()
      setAttempt((count) => count + 1)
    },
  }
}
