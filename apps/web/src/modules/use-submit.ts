import type { Problem } from '@stackquay/contract'
import { useState } from 'react'
import { problemFrom } from '../api/client.ts'

export interface Submit {
  readonly busy: boolean
  /** What the last try failed with; null while it runs and when all is well. */
  readonly error: unknown
  readonly problem: Problem | null
  clear(): void
  /** Runs the act; what it throws becomes the error. */
  run(act: () => Promise<unknown>): Promise<void>
}

/** The state of a form that is sent: whether it is under way, and what the service refused. */
export function useSubmit(): Submit {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  return {
    busy,
    error,
    problem: error === null ? null : problemFrom(error),
    clear: () => setError(null),
    run: async (act) => {
      setBusy(true)
      setError(null)
      try {
        await act()
      } catch (failure) {
        setError(failure)
      } finally {
        setBusy(false)
      }
    },
  }
}
