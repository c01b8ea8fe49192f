import { queryOptions } from '@tanstack/react-query'
import { client } from './client.ts'

export const sshKeysQuery = queryOptions({
  queryKey: ['ssh-keys'],
  queryFn: async ({ signal }) => (await client.call('listSshKeys', { query: { limit: 200 } }, { signal })).items,
  staleTime: 0,
})

export function projectSshQuery(ref: string) {
  return queryOptions({
    queryKey: ['project', ref, 'ssh'],
    queryFn: ({ signal }) => client.call('getProjectSsh', { params: { id: ref } }, { signal }),
    staleTime: 0,
  })
}
