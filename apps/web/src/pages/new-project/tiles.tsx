import type { ReactNode } from 'react'
import { cx } from '../../components/class-names.ts'
import { Monogram } from '../../modules/monogram.tsx'
import { Unavailable } from '../../modules/unavailable.tsx'
import { texts } from '../../texts/index.ts'

const t = texts.create

interface MissingItem {
  readonly name: string
  readonly label: string
  readonly reason: string | null
  readonly install: string | null
}

/** What this machine cannot offer, greyed out, with the reason and the way to get it. */
export function Missing({ items }: { items: readonly MissingItem[] }) {
  if (items.length === 0) return null
  return (
    <details className="mt-3" open={items.length <= 4}>
      <summary className="w-fit rounded py-1 text-sm text-ink-2 hover:text-ink">
        {t.showUnavailable(items.length)}
      </summary>
      <ul className="mt-2 grid grid-cols-1 gap-3 md:grid-cols-2">
        {items.map((item) => (
          <li key={item.name} className="min-w-0 rounded-lg border border-dashed border-line-strong/60 p-3">
            <p className="mb-1 font-medium text-ink-2">{item.label}</p>
            <Unavailable label={item.label} reason={item.reason} install={item.install} />
          </li>
        ))}
      </ul>
    </details>
  )
}

export function Tiles({ children }: { children: ReactNode }) {
  return <div className="grid grid-cols-1 gap-2 sm:grid-cols-2 2xl:grid-cols-3">{children}</div>
}

export function Tile({
  label,
  summary,
  checked,
  onChange,
  error,
  children,
}: {
  label: string
  summary: string
  checked: boolean
  onChange: (checked: boolean) => void
  error: string | null
  children: ReactNode
}) {
  return (
    <div className={cx('min-w-0 rounded-lg border bg-surface', checked ? 'border-accent-ink' : 'border-line')}>
      <label
        className={cx(
          'relative flex min-w-0 items-start gap-3 rounded-lg p-3 has-focus-visible:outline-2 has-focus-visible:outline-accent-ink',
          !checked && 'hover:bg-hover',
        )}
      >
        <Monogram label={label} />
        <span className="min-w-0 flex-1">
          <span className="block font-medium">{label}</span>
          <span className="block text-sm text-ink-2">{summary}</span>
        </span>
        <input
          type="checkbox"
          checked={checked}
          onChange={(event) => onChange(event.target.checked)}
          className="mt-1 size-4 shrink-0 accent-(--accent)"
        />
      </label>
      {checked && <div className="flex flex-col gap-2 px-3 pb-3">{children}</div>}
      {error && <p className="px-3 pb-3 text-sm text-bad">{error}</p>}
    </div>
  )
}
