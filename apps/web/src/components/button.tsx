import { LoaderCircle, type LucideIcon } from 'lucide-react'
import type { ButtonHTMLAttributes, ReactNode, Ref } from 'react'
import { cx } from './class-names.ts'
import { Tip } from './tip.tsx'

const looks = {
  primary: 'bg-accent text-on-accent hover:bg-accent-hover border-transparent font-medium',
  secondary: 'bg-surface text-ink hover:bg-hover border-line shadow-[0_1px_1px_rgb(0_0_0/0.03)]',
  ghost: 'bg-transparent text-ink-2 hover:bg-hover hover:text-ink border-transparent',
  danger: 'bg-danger text-on-accent hover:bg-danger-hover border-transparent font-medium',
} as const
export type ButtonLook = keyof typeof looks

export const buttonBase =
  'inline-flex shrink-0 items-center justify-center gap-1.5 rounded-md border whitespace-nowrap select-none transition-colors duration-100 disabled:opacity-50 disabled:pointer-events-none aria-disabled:opacity-50 aria-disabled:cursor-default'
const buttonSizes = { sm: 'h-7 px-2.5 text-sm', md: 'h-8 px-3 text-base', lg: 'h-10 px-4 text-base' } as const

export function buttonClass(look: ButtonLook = 'secondary', size: keyof typeof buttonSizes = 'md'): string {
  return cx(buttonBase, looks[look], buttonSizes[size])
}

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  look?: ButtonLook
  size?: keyof typeof buttonSizes
  icon?: LucideIcon
  busy?: boolean
  /** Why it cannot be pressed now. It stays reachable, so that the reason can be read. */
  reason?: string | null
  ref?: Ref<HTMLButtonElement>
}

export function Button({
  look,
  size,
  icon: Icon,
  busy = false,
  reason = null,
  className,
  children,
  ...rest
}: ButtonProps) {
  const button = (
    <button type="button" {...pressable({ ...rest, busy, reason })} className={cx(buttonClass(look, size), className)}>
      {busy ? (
        <LoaderCircle aria-hidden className="size-3.5 animate-turn" />
      ) : (
        Icon && <Icon aria-hidden className="size-3.5" />
      )}
      {children}
    </button>
  )
  return reason === null ? button : <Tip text={reason}>{button}</Tip>
}

/** A button with a reason is not `disabled`, which would hide it from the keyboard, but does nothing. */
function pressable({
  busy,
  reason,
  disabled,
  onClick,
  ...rest
}: Pick<ButtonProps, 'busy' | 'reason'> & ButtonHTMLAttributes<HTMLButtonElement>) {
  if (reason == null) return { ...rest, onClick, disabled: disabled || busy }
  return { ...rest, type: 'button' as const, 'aria-disabled': true, 'aria-description': reason }
}

const iconSizes = { sm: 'size-7', md: 'size-8', lg: 'size-10' } as const

/** For a link that looks like an icon button; it needs an accessible name of its own. */
export function iconButtonClass(look: ButtonLook = 'ghost', size: keyof typeof iconSizes = 'md'): string {
  return cx(buttonBase, looks[look], iconSizes[size])
}

interface IconButtonProps extends Omit<ButtonProps, 'children' | 'icon'> {
  icon: LucideIcon
  /** What it does; its accessible name, shown on hover and focus. */
  label: string
  tip?: ReactNode
}

export function IconButton({
  icon: Icon,
  label,
  tip,
  look = 'ghost',
  size = 'md',
  busy = false,
  reason = null,
  className,
  ...rest
}: IconButtonProps) {
  return (
    <Tip text={reason ?? tip ?? label}>
      <button
        type="button"
        aria-label={label}
        {...pressable({ ...rest, busy, reason })}
        className={cx(iconButtonClass(look, size), className)}
      >
        {busy ? <LoaderCircle aria-hidden className="size-4 animate-turn" /> : <Icon aria-hidden className="size-4" />}
      </button>
    </Tip>
  )
}
