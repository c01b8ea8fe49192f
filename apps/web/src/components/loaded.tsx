import type { ReactNode } from 'react'
import { ErrorState } from './error-state.tsx'
import { SkeletonList } from './skeleton.tsx'

/** As much of a query as this needs. */
interface Query<Data> {
  readonly isPending: boolean
  readonly isError: boolean
  readonly error: unknown
  readonly data: Data | undefined
  refetch(): unknown
}

/** What a query has answered. Until then lines in its place, and where it failed, why, with a button to ask again. */
export function Loaded<Data>({
  query,
  rows,
  height,
  children,
}: {
  query: Query<Data>
  /** Of the lines. */
  rows: number
  height?: string
  children: (data: Data) => ReactNode
}) {
  if (query.isPending) return <SkeletonList rows={rows} height={height} />
  if (query.isError) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
  return children(query.data as Data)
}
