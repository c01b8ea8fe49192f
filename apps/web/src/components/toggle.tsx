import type { LucideIcon } from 'lucide-react'
import { cx } from './class-names.ts'

interface ToggleProps {
  label: string
  on: boolean
  onChange: (on: boolean) => void
}

/** A choice that stays pressed. */
export function Toggle({ label, title, on, onChange }: ToggleProps & { title?: string }) {
  return (
    <button
      type="button"
      aria-pressed={on}
      title={title}
      onClick={() => onChange(!on)}
      className={cx(
        'h-7 rounded-md border px-2.5 text-sm whitespace-nowrap',
        on ? 'border-accent-ink bg-accent-soft text-accent-ink' : 'border-line bg-surface text-ink-2 hover:bg-hover',
      )}
    >
      {label}
    </button>
  )
}

export function IconToggle({ icon: Icon, label, on, onChange }: ToggleProps & { icon: LucideIcon }) {
  return (
    <button
      type="button"
      aria-pressed={on}
      aria-label={label}
      title={label}
      onClick={() => onChange(!on)}
      className={cx(
        'flex size-7 items-center justify-center rounded-md',
        on ? 'bg-accent-soft text-accent-ink' : 'text-ink-2 hover:bg-hover',
      )}
    >
      <Icon aria-hidden className="size-4" />
    </button>
  )
}
