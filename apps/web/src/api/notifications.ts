import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { client } from './client.ts'

/** Keys: `['notifications', …]`; the event `notification.changed` has them read again. */

export const notificationsQuery = queryOptions({
  queryKey: ['notifications'],
  queryFn: ({ signal }) => client.call('listNotificationChannels', {}, { signal }),
  staleTime: 0,
})

export function notificationDeliveriesQuery(channel: string) {
  return infiniteQueryOptions({
    queryKey: ['notifications', channel, 'deliveries'],
    queryFn: ({ signal, pageParam }) =>
      client.call(
        'listNotificationDeliveries',
        { params: { channel }, query: { limit: 50, ...(pageParam === null ? {} : { cursor: pageParam }) } },
        { signal },
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.nextCursor,
    staleTime: 0,
  })
}
