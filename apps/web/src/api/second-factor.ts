import { queryOptions } from '@tanstack/react-query'
import { client } from './client.ts'

export const secondFactorQuery = queryOptions({
  queryKey: ['second-factor'],
  queryFn: ({ signal }) => client.call('getSecondFactor', {}, { signal }),
  staleTime: 0,
})
