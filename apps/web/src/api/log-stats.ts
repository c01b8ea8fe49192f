import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { isSpan, type LogQuery, spans } from '../lib/log-query.ts'
import type { AllLogsSearch } from '../lib/log-search.ts'
import { client } from './client.ts'

/** Lines make no events: what was counted is counted again when it is looked at anew. */
export function logStatsQuery(project: string, { workload, since, until }: LogQuery) {
  const query = { workload, since, until }
  return queryOptions({
    queryKey: ['project', project, 'log-stats', query],
    queryFn: ({ signal }) => client.call('getLogStats', { params: { id: project }, query }, { signal }),
    staleTime: 30_000,
  })
}

export function logSearchQuery({ q = '', regex, level, since, project }: AllLogsSearch) {
  return infiniteQueryOptions({
    queryKey: ['log-search', q, regex, level, since, project],
    queryFn: ({ signal, pageParam }) => {
      const from = isSpan(since) ? new Date(Date.now() - spans[since] * 1000).toISOString() : undefined
      const query = {
        ...{ q, level, since: from, projects: project, limit: 100 },
        ...(regex ? { regex: 'true' as const } : {}),
        ...(pageParam === null ? {} : { cursor: pageParam }),
      }
      return client.call('searchLogs', { query }, { signal })
    },
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.nextCursor,
    enabled: q !== '',
    staleTime: 30_000,
    retry: false,
  })
}
