import type { Run } from '@stackquay/contract'
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import type { LogQuery } from '../lib/log-query.ts'
import { client } from './client.ts'
import { queryClient } from './query-client.ts'

/** Keys: `['project', <ref>, 'actions' | 'tests' | 'runs' | 'run', …]`; an event of any run has them read again. */

export function actionsQuery(ref: string) {
  return queryOptions({
    queryKey: ['project', ref, 'actions'],
    queryFn: async ({ signal }) => (await client.call('listActions', { params: { id: ref } }, { signal })).items,
    // What can be run is found in the source, which changes without an event.
    staleTime: 0,
  })
}

export function testsQuery(ref: string) {
  return queryOptions({
    queryKey: ['project', ref, 'tests'],
    queryFn: ({ signal }) => client.call('listTests', { params: { id: ref } }, { signal }),
    staleTime: 0,
  })
}

export function runsQuery(ref: string, kind: Run['kind']) {
  return infiniteQueryOptions({
    queryKey: ['project', ref, 'runs', kind],
    queryFn: ({ signal, pageParam }) =>
      client.call(
        'listRuns',
        {
          params: { id: ref },
          query: { kind, limit: 20, ...(pageParam === null ? {} : { cursor: pageParam }) },
        },
        { signal },
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.nextCursor,
  })
}

export function runQuery(ref: string, run: string) {
  return queryOptions({
    queryKey: ['project', ref, 'run', run],
    queryFn: ({ signal }) => client.call('getRun', { params: { id: ref, run } }, { signal }),
  })
}

export const outcomes = ['failed', 'flaky', 'skipped', 'passed'] as const
export type Outcome = (typeof outcomes)[number]

export function testCasesQuery(ref: string, run: string, outcome: Outcome | null) {
  return infiniteQueryOptions({
    queryKey: ['project', ref, 'run', run, 'cases', outcome],
    queryFn: ({ signal, pageParam }) =>
      client.call(
        'listTestCases',
        {
          params: { id: ref, run },
          query: {
            limit: 100,
            ...(outcome === null ? {} : { outcome }),
            ...(pageParam === null ? {} : { cursor: pageParam }),
          },
        },
        { signal },
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.nextCursor,
  })
}

export async function runAction(project: string, action: string): Promise<Run> {
  return held(project, await client.call('runAction', { params: { id: project, action } }, once()))
}

export async function runTests(project: string, suite: string, filter: string): Promise<Run> {
  const body = filter.trim() === '' ? {} : { body: { filter: filter.trim() } }
  return held(project, await client.call('runTests', { params: { id: project, suite }, ...body }, once()))
}

export async function cancelRun(project: string, run: string): Promise<Run> {
  return held(project, await client.call('cancelRun', { params: { id: project, run } }))
}

/** Lists of runs are read again; events do the same a moment later. */
export async function readRunsAgain(project: string): Promise<void> {
  await Promise.all(
    ['actions', 'tests', 'runs'].map((part) => queryClient.invalidateQueries({ queryKey: ['project', project, part] })),
  )
}

export function runOutputPath(project: string, run: string): string {
  return `${projectPath(project)}/runs/${encodeURIComponent(run)}/output`
}

export function logFilePath(project: string, query: LogQuery, format: 'text' | 'jsonl'): string {
  const search = new URLSearchParams({ format })
  for (const [name, value] of Object.entries(query)) search.set(name, String(value))
  return `${projectPath(project)}/logs/download?${search}`
}

function projectPath(project: string): string {
  return `/projects/${encodeURIComponent(project)}`
}

/** A lost answer must not run it twice. */
function once() {
  return { idempotencyKey: crypto.randomUUID() }
}

function held(project: string, run: Run): Run {
  queryClient.setQueryData(runQuery(project, run.id).queryKey, run)
  void readRunsAgain(project)
  return run
}
