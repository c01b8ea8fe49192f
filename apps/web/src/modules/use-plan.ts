import type { Plan } from '@stackquay/contract'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { problemFrom } from '../api/client.ts'
import { useDebounced } from '../components/use-debounced.ts'

export interface LivePlan {
  readonly plan: Plan | null
  readonly error: unknown
  /** The plan shown is of an earlier state of the form; a new one is on its way. */
  readonly pending: boolean
}

/**
 * The plan of what a form says now, asked for when typing rests. Null input asks nothing. The one before stays on the
 * screen until the new one is there, so that nothing jumps.
 */
export function usePlan<Input>(
  name: readonly string[],
  input: Input | null,
  ask: (input: Input, signal: AbortSignal) => Promise<Plan>,
): LivePlan {
  const settled = useDebounced(input, 350)
  const query = useQuery({
    queryKey: ['plan', ...name, settled],
    queryFn: ({ signal }) => ask(settled as Input, signal),
    enabled: settled !== null,
    placeholderData: settled === null ? undefined : keepPreviousData,
    staleTime: 0,
    gcTime: 0,
    retry: (count, error) => count < 1 && problemFrom(error).retryable,
  })
  const waiting = JSON.stringify(input) !== JSON.stringify(settled)
  return {
    plan: input === null ? null : (query.data ?? null),
    error: input === null || query.isFetching ? null : query.error,
    pending: input !== null && (waiting || query.isFetching),
  }
}
