import type { Settings } from '@stackquay/catalog'

/** What a person wants of a project: the only thing PATCH changes. Complete: defaults are settled when they are written. */
export interface ProjectSpec {
  readonly name: string
  readonly runtimes: Readonly<Record<string, Settings>>
  readonly services: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly databases: Readonly<Record<string, DatabaseSpec>>
  readonly env: Readonly<Record<string, EnvVariable>>
  readonly healthCheck: { readonly path: string; readonly timeoutSeconds: number } | null
  readonly limits: { readonly cpus: number | null; readonly memoryBytes: number | null } | null
}

export interface DatabaseSpec {
  /** Never an alias. */
  readonly type: string
  readonly version: string
  readonly exposePort: boolean
}

/** The text of a secret variable stands in the store, sealed; the specification names it. */
export type EnvVariable =
  | { readonly secret: false; readonly value: string }
  | { readonly secret: true; readonly ref: { readonly secret: string; readonly version: number } }

export const emptySpec = (name: string): ProjectSpec => ({
  name,
  runtimes: {},
  services: {},
  databases: {},
  env: {},
  healthCheck: null,
  limits: null,
})
