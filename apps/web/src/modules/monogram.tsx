import { cx } from '../components/class-names.ts'

/** Two letters on a tile: a quiet sign for what has no picture of its own. */
export function Monogram({ label, className }: { label: string; className?: string }) {
  const letters = label.replace(/[^\p{L}\p{N}]/gu, '').slice(0, 2)
  return (
    <span
      aria-hidden
      className={cx(
        'flex size-8 shrink-0 items-center justify-center rounded-md border border-line bg-sunken font-mono text-xs font-medium text-ink-2',
        className,
      )}
    >
      {letters}
    </span>
  )
}
