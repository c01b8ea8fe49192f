import type { Terminal } from '@stackquay/contract'
import { queryOptions } from '@tanstack/react-query'
import { client } from './client.ts'
import { queryClient } from './query-client.ts'

export function terminalsQuery(ref: string) {
  return queryOptions({
    queryKey: ['project', ref, 'terminals'],
    queryFn: async ({ signal }) => (await client.call('listTerminals', { params: { id: ref } }, { signal })).items,
    staleTime: 0,
  })
}

export async function openTerminal(project: string, workload: string | undefined): Promise<Terminal> {
  const terminal = await client.call(
    'createTerminal',
    { params: { id: project }, body: workload === undefined ? {} : { workload } },
    { idempotencyKey: crypto.randomUUID() },
  )
  const { queryKey } = terminalsQuery(project)
  queryClient.setQueryData(queryKey, (held: Terminal[] | undefined) => [
    ...(held ?? []).filter((other) => other.id !== terminal.id),
    terminal,
  ])
  return terminal
}

export async function endTerminal(project: string, term: string): Promise<void> {
  await client.call('endTerminal', { params: { id: project, term } })
  queryClient.setQueryData(terminalsQuery(project).queryKey, (held: Terminal[] | undefined) =>
    held?.filter((other) => other.id !== term),
  )
}
