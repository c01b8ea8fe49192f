import { queryOptions } from '@tanstack/react-query'
import { client } from './client.ts'

/** Below `['tls']`: the event `certificate.changed` has it read again. */
export const acmeQuery = queryOptions({
  queryKey: ['tls', 'acme'],
  queryFn: ({ signal }) => client.call('getAcme', {}, { signal }),
  staleTime: 0,
  // An attempt that begins or ends its wait makes no event.
  refetchInterval: ({ state }) => (state.data?.orders.some((one) => one.state !== 'valid') ? 3000 : false),
})
