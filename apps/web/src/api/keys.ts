import type { CallInput, CallResult } from '@stackquay/contract'
import { infiniteQueryOptions } from '@tanstack/react-query'
import { client } from './client.ts'
import { queryClient } from './query-client.ts'

export type KeysPage = CallResult<'listKeys'>
export type KeyFacts = KeysPage['keys'][number]
export type KeyText = KeyFacts['key']
export type KeyView = CallResult<'getKey'>
export type KeyChange = Omit<NonNullable<CallInput<'editKey'>['body']>, 'key' | 'encoding'>

/** Which service of which project. */
export interface ServiceRef {
  readonly project: string
  readonly service: string
}

const key = ({ project, service }: ServiceRef) => ['keys', project, service] as const

export function keysQuery(ref: ServiceRef, match: string) {
  return infiniteQueryOptions({
    queryKey: [...key(ref), 'list', match],
    queryFn: ({ signal, pageParam }) =>
      client.call('listKeys', { params: paramsOf(ref), query: { match, cursor: pageParam, limit: '100' } } as never, {
        signal,
      }) as Promise<KeysPage>,
    initialPageParam: '0',
    getNextPageParam: ({ nextCursor }) => nextCursor,
    retry: false,
  })
}

export function keyQuery(ref: ServiceRef, chosen: KeyText) {
  return infiniteQueryOptions({
    queryKey: [...key(ref), 'key', chosen],
    queryFn: ({ signal, pageParam }) =>
      client.call(
        'getKey',
        { params: paramsOf(ref), query: { ...named(chosen), cursor: pageParam, limit: '100' } } as never,
        { signal },
      ) as Promise<KeyView>,
    initialPageParam: '0',
    getNextPageParam: ({ nextCursor }) => nextCursor,
    gcTime: 0,
    retry: false,
  })
}

export async function editKey(ref: ServiceRef, chosen: KeyText, change: KeyChange): Promise<void> {
  await client.call('editKey', { params: paramsOf(ref), body: { ...named(chosen), ...change } } as never)
  // A key that is gone is not asked for again.
  await queryClient.invalidateQueries({ queryKey: change.act === 'delete' ? [...key(ref), 'list'] : key(ref) })
}

function named(chosen: KeyText) {
  return typeof chosen === 'string' ? { key: chosen } : { key: chosen.base64, encoding: 'base64' as const }
}

function paramsOf({ project, service }: ServiceRef) {
  return { id: project, service }
}
