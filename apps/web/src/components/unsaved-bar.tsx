import type { ReactNode } from 'react'

/** Stays in sight below a form while it says something else than what is stored. */
export function UnsavedBar({ label, children }: { label: string; children: ReactNode }) {
  return (
    <section
      aria-label={label}
      className="sticky bottom-3 z-10 mt-auto animate-appear rounded-xl border border-line bg-raised p-4 shadow-pop"
    >
      {children}
    </section>
  )
}
