import type { ReactNode } from 'react'
import { cx } from './class-names.ts'

interface PanelProps {
  title?: ReactNode
  detail?: ReactNode
  actions?: ReactNode
  children: ReactNode
  /** Content brings its own padding: lists and tables. */
  flush?: boolean
  className?: string
  id?: string
}

/** A titled surface; the page's unit of content. */
export function Panel({ title, detail, actions, children, flush, className, id }: PanelProps) {
  return (
    <section id={id} className={cx('min-w-0 rounded-lg border border-line bg-surface', className)}>
      {(title || actions) && (
        <div
          className={cx(
            'flex flex-wrap items-center justify-between gap-x-4 gap-y-2 px-4 pt-3',
            flush && 'border-b border-line pb-2.5',
          )}
        >
          <div className={cx('min-w-0', Boolean(detail) && 'flex-1 basis-52')}>
            {title && <h2 className="text-base font-semibold">{title}</h2>}
            {detail && <p className="text-sm text-ink-2">{detail}</p>}
          </div>
          {actions && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
        </div>
      )}
      <div className={flush ? undefined : 'p-4'}>{children}</div>
    </section>
  )
}

interface PageHeaderProps {
  title: ReactNode
  detail?: ReactNode
  actions?: ReactNode
  /** 2 below the head of a project, which has the first heading. */
  level?: 1 | 2
}

export function PageHeader({ title, detail, actions, level = 1 }: PageHeaderProps) {
  const Heading = level === 1 ? 'h1' : 'h2'
  return (
    <header className="flex flex-wrap items-start justify-between gap-x-4 gap-y-3">
      <div className="min-w-0">
        <Heading className="text-xl">{title}</Heading>
        {detail && <p className="mt-0.5 text-ink-2">{detail}</p>}
      </div>
      {actions && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
    </header>
  )
}
