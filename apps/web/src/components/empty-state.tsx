import type { LucideIcon } from 'lucide-react'
import type { ReactNode } from 'react'

export function EmptyState({
  icon: Icon,
  title,
  detail,
  children,
}: {
  icon?: LucideIcon
  title: string
  detail?: ReactNode
  children?: ReactNode
}) {
  return (
    <div className="flex flex-col items-center gap-1 px-6 py-12 text-center">
      {Icon && (
        <span className="mb-2 flex size-10 items-center justify-center rounded-lg border border-line bg-sunken text-ink-3">
          <Icon aria-hidden className="size-5" />
        </span>
      )}
      <p className="text-base font-medium">{title}</p>
      {detail && <p className="max-w-md text-ink-2">{detail}</p>}
      {children && <div className="mt-4 flex flex-wrap justify-center gap-2">{children}</div>}
    </div>
  )
}
