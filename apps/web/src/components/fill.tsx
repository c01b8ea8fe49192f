import type { ReactNode } from 'react'

/** What takes the rest of the screen below the head of its page, however tall that is, and scrolls in itself. */
export function Fill({ label, children }: { label: string; children: ReactNode }) {
  return (
    <section aria-label={label} className="relative min-h-96 flex-1">
      <div className="absolute inset-0 flex flex-col">{children}</div>
    </section>
  )
}
