import type { Addon } from '@stackquay/contract'
import { queryOptions } from '@tanstack/react-query'
import { client } from './client.ts'
import { queryClient } from './query-client.ts'

/** No event tells of addons, so each look at them reads them. */
export const addonsQuery = queryOptions({
  queryKey: ['addons'],
  queryFn: async ({ signal }) => (await client.call('listAddons', {}, { signal })).items,
  staleTime: 0,
})

export function addonQuery(name: string) {
  return queryOptions({
    queryKey: ['addons', name],
    queryFn: ({ signal }) => client.call('getAddon', { params: { name } }, { signal }),
    // What is being edited is replaced by nobody.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })
}

/** What adding the file would do. Writes nothing. */
export function checkAddon(yaml: string, signal: AbortSignal): Promise<Addon> {
  return client.call('addAddon', { body: { yaml }, query: { validate: true } }, { signal })
}

export async function addAddon(yaml: string): Promise<Addon> {
  const added = await client.call('addAddon', { body: { yaml } })
  await readAgain()
  return added
}

export async function removeAddon(name: string): Promise<void> {
  try {
    await client.call('deleteAddon', { params: { name } })
  } finally {
    // Refused, it is in use by somebody that the list does not show yet.
    await readAgain()
  }
}

async function readAgain(): Promise<void> {
  await Promise.all([
    queryClient.invalidateQueries({ queryKey: addonsQuery.queryKey, exact: true }),
    queryClient.invalidateQueries({ queryKey: ['services'] }),
  ])
}
