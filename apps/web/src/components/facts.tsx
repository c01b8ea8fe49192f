import type { ReactNode } from 'react'

/** Names and values, one under the other; side by side where there is room. */
export function Facts({ items }: { items: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className="grid gap-x-6 gap-y-2 sm:grid-cols-[8rem_minmax(0,1fr)]">
      {items.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="text-ink-2 max-sm:-mb-2">{name}</dt>
          <dd className="min-w-0 break-words">{value}</dd>
        </div>
      ))}
    </dl>
  )
}
