import type { OperationRecord, ProjectSummary, ProjectView, UserView } from '@stackquay/contract'
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { type AuditFilter, auditQueryOf } from '../lib/audit-filter.ts'
import { isEngine } from '../lib/engines.ts'
import { answeredOperation } from '../lib/live.ts'
import type { MetricRange } from '../lib/metrics.ts'
import { client, isStatus } from './client.ts'
import { sessionKey } from './session-key.ts'

/** Keys: `['projects']`, `['project', <id or slug>, …]`, `['operation', <id>]`; `events.ts` keeps them true. */

export const meQuery = queryOptions({
  queryKey: ['me'],
  queryFn: async ({ signal }) => {
    if (sessionKey() === null) return null
    try {
      const me = await client.call('getMe', {}, { signal })
      return me.kind === 'session' ? me : null
    } catch (error) {
      if (isStatus(error, 401)) return null
      throw error
    }
  },
})

export const setupQuery = queryOptions({
  queryKey: ['setup'],
  queryFn: ({ signal }) => client.call('getSetup', {}, { signal }),
  staleTime: 0,
})

export const projectsQuery = queryOptions({
  queryKey: ['projects'],
  queryFn: async ({ signal }) => {
    const all: ProjectSummary[] = []
    let cursor: string | null = null
    do {
      const query: { limit: number; cursor?: string } = cursor === null ? { limit: 200 } : { limit: 200, cursor }
      const page: { items: readonly unknown[]; nextCursor: string | null } = await client.call(
        'listProjects',
        { query },
        { signal },
      )
      all.push(...(page.items as ProjectSummary[]))
      cursor = page.nextCursor
    } while (cursor !== null)
    return all
  },
})

export function projectQuery(ref: string) {
  return queryOptions({
    queryKey: ['project', ref],
    queryFn: ({ signal }) => readProject(ref, signal),
  })
}

export async function readProject(ref: string, signal?: AbortSignal): Promise<ProjectView> {
  return (await client.call(
    'getProject',
    { params: { id: ref } },
    signal === undefined ? {} : { signal },
  )) as unknown as ProjectView
}

export function projectEnvQuery(ref: string) {
  return queryOptions({
    queryKey: ['project', ref, 'env'],
    queryFn: ({ signal }) => client.call('getProjectEnv', { params: { id: ref } }, { signal }),
  })
}

export function extrasQuery(ref: string) {
  return queryOptions({
    queryKey: ['project', ref, 'extras'],
    queryFn: ({ signal }) => client.call('listExtras', { params: { id: ref } }, { signal }),
  })
}

export function imagesQuery(ref: string) {
  return queryOptions({
    queryKey: ['project', ref, 'images'],
    queryFn: async ({ signal }) => (await client.call('listImages', { params: { id: ref } }, { signal })).items,
  })
}

export function projectStatsQuery(ref: string) {
  return queryOptions({
    queryKey: ['stats', ref],
    queryFn: ({ signal }) => client.call('getProjectStats', { params: { id: ref } }, { signal }),
    staleTime: 0,
  })
}

/** Read again when a new point has come. */
export function projectMetricsQuery(ref: string, range: MetricRange) {
  return queryOptions({
    queryKey: ['metrics', ref, range],
    queryFn: ({ signal }) => client.call('getProjectMetrics', { params: { id: ref }, query: { range } }, { signal }),
    refetchInterval: 60_000,
    staleTime: 0,
  })
}

export function manifestQuery(ref: string) {
  return queryOptions({
    queryKey: ['project', ref, 'manifest'],
    queryFn: ({ signal }) => client.call('getManifest', { params: { id: ref } }, { signal }),
  })
}

export function projectOperationsQuery(ref: string) {
  return queryOptions({
    queryKey: ['project', ref, 'operations'],
    queryFn: async ({ signal }) =>
      (await client.call('listOperations', { query: { project: ref, limit: 8 } }, { signal })).items,
  })
}

/** What events told of an operation whose record was not read. */
export const toldOperationKey = (id: string) => ['operation-told', id]

export function operationQuery(id: string) {
  return queryOptions({
    queryKey: ['operation', id],
    queryFn: async ({ signal, client: queries, queryKey }) => {
      const answer = (await client.call('getOperation', { params: { op: id } }, { signal })) as OperationRecord
      const told = [queryKey, toldOperationKey(id)].map((key) => queries.getQueryData<OperationRecord>(key))
      return answeredOperation(told[0] ?? told[1], answer)
    },
  })
}

export const operationsQuery = infiniteQueryOptions({
  queryKey: ['operations'],
  queryFn: ({ signal, pageParam }) =>
    client.call(
      'listOperations',
      { query: pageParam === null ? { limit: 50 } : { limit: 50, cursor: pageParam } },
      { signal },
    ),
  initialPageParam: null as string | null,
  getNextPageParam: (page) => page.nextCursor,
})

export function auditQuery(filter: AuditFilter) {
  return infiniteQueryOptions({
    queryKey: ['audit', filter],
    queryFn: ({ signal, pageParam }) =>
      client.call(
        'listAudit',
        {
          query: {
            limit: 50,
            ...auditQueryOf(filter, Date.now()),
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

export const auditVerificationQuery = queryOptions({
  queryKey: ['audit-verification'],
  queryFn: ({ signal }) => client.call('verifyAudit', {}, { signal }),
  staleTime: 5 * 60_000,
})

/** What is offered on an engine; null for the one that new projects get. */
export function runtimesQuery(engine: string | null) {
  return queryOptions({
    queryKey: ['runtimes', engine],
    queryFn: ({ signal }) => client.call('listRuntimes', ofEngine(engine), { signal }),
  })
}

export function servicesQuery(engine: string | null) {
  return queryOptions({
    queryKey: ['services', engine],
    queryFn: ({ signal }) => client.call('listServices', ofEngine(engine), { signal }),
    // Administrators add addons, of which no event tells.
    staleTime: 0,
  })
}

/** An engine that this page does not know cannot be asked about. */
function ofEngine(engine: string | null) {
  return engine !== null && isEngine(engine) ? { query: { engine } } : {}
}

export const tokensQuery = queryOptions({
  queryKey: ['tokens'],
  queryFn: async ({ signal }) => (await client.call('listTokens', { query: { limit: 200 } }, { signal })).items,
  staleTime: 0,
})

export const sessionsQuery = queryOptions({
  queryKey: ['sessions'],
  queryFn: async ({ signal }) => (await client.call('listSessions', { query: { limit: 200 } }, { signal })).items,
  staleTime: 0,
})

export const devicesQuery = queryOptions({
  queryKey: ['devices'],
  queryFn: async ({ signal }) => (await client.call('listDevices', { query: { limit: 200 } }, { signal })).items,
  staleTime: 0,
})

export const usersQuery = queryOptions({
  queryKey: ['users'],
  queryFn: async ({ signal }) => {
    const all: UserView[] = []
    let cursor: string | null = null
    do {
      const query: { limit: number; cursor?: string } = cursor === null ? { limit: 200 } : { limit: 200, cursor }
      const page: { items: readonly UserView[]; nextCursor: string | null } = await client.call(
        'listUsers',
        { query },
        { signal },
      )
      all.push(...page.items)
      cursor = page.nextCursor
    } while (cursor !== null)
    return all
  },
  staleTime: 0,
})

export const instanceSettingsQuery = queryOptions({
  queryKey: ['instance-settings'],
  queryFn: ({ signal }) => client.call('getSettings', {}, { signal }),
  staleTime: 0,
})

export const oidcQuery = queryOptions({
  queryKey: ['oidc'],
  queryFn: ({ signal }) => client.call('getOidc', {}, { signal }),
  staleTime: 0,
})

/** Whether one may sign in by a provider; asked before anybody is logged in. */
export const oidcOfferQuery = queryOptions({
  queryKey: ['oidc-offer'],
  queryFn: ({ signal }) => client.call('getOidcOffer', {}, { signal }),
  staleTime: 60_000,
})

export const secretKeyQuery = queryOptions({
  queryKey: ['secret-key'],
  queryFn: ({ signal }) => client.call('getSecretKey', {}, { signal }),
  staleTime: 0,
})

/** How projects are isolated, as `GET /health` tells callers with credentials. It changes with a restart of the service only. */
export const isolationQuery = queryOptions({
  queryKey: ['isolation'],
  queryFn: async ({ signal }) => (await client.call('getHealth', {}, { signal })).isolation ?? null,
  staleTime: 60_000,
})

export const diagnosticsQuery = queryOptions({
  queryKey: ['diagnostics'],
  queryFn: ({ signal }) => client.call('getDiagnostics', {}, { signal }),
  staleTime: 0,
})
