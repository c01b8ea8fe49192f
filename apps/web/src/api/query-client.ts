import { QueryClient } from '@tanstack/react-query'
import { problemFrom } from './client.ts'

/**
 * Nothing here polls or refetches by age: the event stream says what changed (`events.ts`). A failed read is repeated
 * only where the service said that waiting helps.
 */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: Number.POSITIVE_INFINITY,
      gcTime: 10 * 60_000,
      refetchOnWindowFocus: false,
      refetchOnReconnect: false,
      networkMode: 'always',
      retry: (count, error) => count < 2 && problemFrom(error).retryable,
      retryDelay: (count) => 400 * 2 ** count,
    },
    mutations: { networkMode: 'always' },
  },
})
