import { ChevronRight } from 'lucide-react'
import type { ReactNode } from 'react'

/** A title under which more is found; closed at first. */
export function Disclosure({ title, children }: { title: string; children: ReactNode }) {
  return (
    <details className="group">
      <summary className="flex w-fit items-center gap-1 rounded text-sm text-ink-2 hover:text-ink">
        <ChevronRight aria-hidden className="size-3.5 transition-transform group-open:rotate-90" />
        {title}
      </summary>
      <div className="mt-2">{children}</div>
    </details>
  )
}
