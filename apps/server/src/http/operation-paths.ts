import type { Method, Operation } from '@stackquay/contract'

/** Finds operations by path where the router does not help: upgrades, and telling 404 from 405. */
export interface OperationPaths {
  /** Operations on this path with their parameters; more than one where methods differ. */
  at(path: string): readonly { readonly operation: Operation; readonly params: Readonly<Record<string, string>> }[]
  /** For the Allow header; empty when nothing stands at the path. */
  methodsAt(path: string): readonly (Method | 'HEAD')[]
}

export function createOperationPaths(prefix: string, operations: readonly Operation[]): OperationPaths {
  // Literal segments before parameters, as the router does: `/projects/from-manifest` is no project.
  const patterns = operations
    .map((operation) => ({ operation, pattern: patternOf(prefix + operation.path) }))
    .sort((one, other) => parameters(one.operation) - parameters(other.operation))

  return {
    at: find,
    methodsAt(path) {
      const methods = find(path).flatMap(({ operation: { method, stream } }) =>
        method === 'GET' && stream === undefined ? [method, 'HEAD' as const] : [method],
      )
      return [...new Set(methods)].sort()
    },
  }

  function find(path: string) {
    return patterns.flatMap(({ operation, pattern }) => {
      const match = pattern.exec(path)
      if (match === null) return []
      const params = decoded(match.groups ?? {})
      return params === null ? [] : [{ operation, params }]
    })
  }
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replace(/[.]/g, '\\.').replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`)
}

function parameters({ path }: Operation): number {
  return path.split('{').length
}

function decoded(groups: Readonly<Record<string, string>>): Record<string, string> | null {
  try {
    return Object.fromEntries(Object.entries(groups).map(([name, value]) => [name, decodeURIComponent(value)]))
  } catch {
    return null
  }
}
