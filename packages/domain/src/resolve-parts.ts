import type { WorkloadSpec } from '@stackquay/catalog'
import type { FieldError } from '@stackquay/contract'

export type PartKind = 'runtime' | 'service' | 'database' | 'worker'

/** What one runtime, service or database becomes: workloads, or an error and the names of workloads that are missing. */
export type ResolvedPart =
  | {
      readonly kind: PartKind
      readonly name: string
      readonly workloads: readonly WorkloadSpec[]
      /** Of a runtime: the version of its program, where that is one of this machine. */
      readonly version?: string
    }
  | { readonly error: FieldError; readonly unresolved: readonly string[] }

export function workloadsOf(
  parts: readonly ResolvedPart[],
): readonly { readonly kind: PartKind; readonly workload: WorkloadSpec }[] {
  return parts.flatMap((part) =>
    'error' in part ? [] : part.workloads.map((workload) => ({ kind: part.kind, workload })),
  )
}
