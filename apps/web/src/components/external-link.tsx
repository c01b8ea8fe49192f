import { ExternalLink as Icon } from 'lucide-react'
import type { ReactNode } from 'react'
import { texts } from '../texts/index.ts'
import { cx } from './class-names.ts'

export function ExternalLink({
  href,
  children,
  className,
  label,
}: {
  href: string
  children?: ReactNode
  className?: string
  label?: string
}) {
  return (
    <a
      href={href}
      target="_blank"
      rel="noreferrer"
      aria-label={label && `${label} ${texts.common.opensInNewTab}`}
      className={cx('inline-flex min-w-0 items-center gap-1 text-accent-ink hover:underline', className)}
    >
      <span className="truncate">{children ?? shortUrl(href)}</span>
      <Icon aria-hidden className="size-3 shrink-0" />
      {!label && <span className="sr-only">{texts.common.opensInNewTab}</span>}
    </a>
  )
}

function shortUrl(url: string): string {
  return url.replace(/^https?:\/\//, '').replace(/\/$/, '')
}
