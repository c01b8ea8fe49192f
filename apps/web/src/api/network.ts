import type { CallInput, CallResult, Domain, ProxyRules, Share } from '@stackquay/contract'
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import type { TrafficRange } from '../lib/network-search.ts'
import type { RulesBody } from '../lib/rules-form.ts'
import { client } from './client.ts'
import { queryClient } from './query-client.ts'

export type ShareProvider = CallResult<'getShare'>['providers'][number]

/** Keys: `['project', <ref>, 'network', …]`; a changed project has them read again. */

export function domainsQuery(ref: string) {
  return queryOptions({
    queryKey: ['project', ref, 'network', 'domains'],
    queryFn: async ({ signal }) => (await client.call('listDomains', { params: { id: ref } }, { signal })).items,
  })
}

/** Rules, and the ETag that must still hold when they are replaced. */
export interface RulesRead {
  readonly rules: ProxyRules
  readonly etag: string | null
}

export function rulesQuery(ref: string) {
  return queryOptions({
    queryKey: ['project', ref, 'network', 'rules'],
    queryFn: async ({ signal }): Promise<RulesRead> => {
      const { data, etag } = await client.callFull('getProxyRules', { params: { id: ref } }, { signal })
      return { rules: data, etag }
    },
  })
}

/** Nothing tells of a visitor, so an open share is looked at again. */
const lookAgainMs = 10_000

export function shareQuery(ref: string) {
  return queryOptions({
    queryKey: ['project', ref, 'network', 'share'],
    queryFn: ({ signal }) => client.call('getShare', { params: { id: ref } }, { signal }),
    refetchInterval: ({ state }) => (state.data?.share == null ? false : lookAgainMs),
    // No event says which providers the machine has.
    staleTime: 0,
  })
}

export function shareViewersQuery(ref: string, share: string) {
  return queryOptions({
    queryKey: ['project', ref, 'network', 'share', share, 'viewers'],
    queryFn: async ({ signal }) => (await client.call('listShareViewers', { params: { id: ref } }, { signal })).items,
    refetchInterval: lookAgainMs,
    staleTime: 0,
  })
}

/** Requests make no events: there would be one for each. The picture is read again when a new point has come. */
export function trafficQuery(ref: string, range: TrafficRange) {
  return queryOptions({
    queryKey: ['project', ref, 'traffic', range],
    queryFn: ({ signal }) => client.call('getTraffic', { params: { id: ref }, query: { range } }, { signal }),
    refetchInterval: ({ state }) => Math.min(60, Math.max(10, state.data?.stepSeconds ?? 10)) * 1000,
    staleTime: 0,
  })
}

export interface AccessFilter {
  readonly status?: string | undefined
  readonly q?: string | undefined
}

export function accessLogQuery(ref: string, { status, q }: AccessFilter) {
  return infiniteQueryOptions({
    queryKey: ['project', ref, 'access-log', status ?? null, q ?? null],
    queryFn: ({ signal, pageParam }) =>
      client.call(
        'listAccessLog',
        {
          params: { id: ref },
          query: {
            limit: 50,
            ...(status === undefined ? {} : { status }),
            ...(q === undefined ? {} : { q }),
            ...(pageParam === null ? {} : { cursor: pageParam }),
          },
        },
        { signal },
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.nextCursor,
    staleTime: 0,
  })
}

export async function addDomain(project: string, body: { host: string; workload?: string }): Promise<Domain> {
  const made = await client.call('addDomain', { params: { id: project }, body })
  await queryClient.invalidateQueries({ queryKey: domainsQuery(project).queryKey })
  return made
}

export async function removeDomain(project: string, host: string): Promise<void> {
  await client.call('removeDomain', { params: { id: project, host } })
  await queryClient.invalidateQueries({ queryKey: domainsQuery(project).queryKey })
}

export async function replaceRules(project: string, body: RulesBody, ifMatch: string | null): Promise<RulesRead> {
  const { data, etag } = await client.callFull(
    'putProxyRules',
    { params: { id: project }, body },
    ifMatch === null ? {} : { ifMatch },
  )
  const read = { rules: data, etag }
  queryClient.setQueryData(rulesQuery(project).queryKey, read)
  return read
}

export async function startShare(project: string, body: NonNullable<CallInput<'createShare'>['body']>): Promise<Share> {
  const share = await client.call('createShare', { params: { id: project }, body })
  queryClient.setQueryData(shareQuery(project).queryKey, (held) => (held === undefined ? held : { ...held, share }))
  return share
}

export async function endShare(project: string): Promise<void> {
  await client.call('endShare', { params: { id: project } })
  queryClient.setQueryData(shareQuery(project).queryKey, (held) =>
    held === undefined ? held : { ...held, share: null },
  )
}
