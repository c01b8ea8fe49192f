import { texts } from '../texts/index.ts'
import { cx } from './class-names.ts'

export function Skeleton({ className }: { className?: string }) {
  return <div className={cx('animate-pulse rounded-md bg-line', className)} />
}

/** Lines in the shape of a list while it is read. */
export function SkeletonList({ rows = 4, height = 'h-11' }: { rows?: number; height?: string }) {
  return (
    <div role="status" className="flex flex-col gap-2 p-4">
      <span className="sr-only">{texts.common.loading}</span>
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: rows without identity
        <Skeleton key={row} className={height} />
      ))}
    </div>
  )
}
