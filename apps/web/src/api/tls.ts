import { queryOptions } from '@tanstack/react-query'
import { client } from './client.ts'

/** The event `certificate.changed` has it read again. */
export const tlsQuery = queryOptions({
  queryKey: ['tls'],
  queryFn: ({ signal }) => client.call('getTls', {}, { signal }),
  staleTime: 0,
})
