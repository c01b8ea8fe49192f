import type { ReactNode, Ref, UIEventHandler } from 'react'
import { cx } from './class-names.ts'

interface ScrollBoxProps {
  label: string
  children: ReactNode
  className?: string
  ref?: Ref<HTMLElement>
  onScroll?: UIEventHandler<HTMLElement>
}

/**
 * Content that scrolls in itself: a named region that takes the focus, so that a keyboard can scroll it (WCAG 2.1.1).
 * Positioned, so that hidden texts in it stay in it and do not widen the page.
 */
export function ScrollBox({ label, children, className, ref, onScroll }: ScrollBoxProps) {
  return (
    <section
      ref={ref}
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
      tabIndex={0}
      onScroll={onScroll}
      className={cx('scroll-thin relative', className)}
    >
      {children}
    </section>
  )
}
