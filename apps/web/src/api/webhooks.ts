import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { client } from './client.ts'

/** Keys: `['webhooks', …]`; the event `webhook.changed` has them read again. */

export const webhooksQuery = queryOptions({
  queryKey: ['webhooks'],
  queryFn: async ({ signal }) => (await client.call('listWebhooks', {}, { signal })).items,
  staleTime: 0,
})

export function deliveriesQuery(hook: string) {
  return infiniteQueryOptions({
    queryKey: ['webhooks', hook, 'deliveries'],
    queryFn: ({ signal, pageParam }) =>
      client.call(
        'listDeliveries',
        { params: { hook }, query: { limit: 50, ...(pageParam === null ? {} : { cursor: pageParam }) } },
        { signal },
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.nextCursor,
    staleTime: 0,
  })
}
