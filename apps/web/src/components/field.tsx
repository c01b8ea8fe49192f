import {
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useId,
} from 'react'
import { texts } from '../texts/index.ts'
import { cx } from './class-names.ts'

const control =
  'w-full min-w-0 rounded-md border bg-surface text-base text-ink transition-colors disabled:opacity-60 [&[readonly]]:bg-sunken focus-visible:outline-offset-0'

function controlClass(invalid: boolean): string {
  return cx(control, invalid ? 'border-bad' : 'border-line-strong/60 hover:border-line-strong')
}

interface FrameProps {
  label: ReactNode
  help?: ReactNode
  error?: string | null
  optional?: boolean
  hideLabel?: boolean
  className?: string
}

function Frame({
  id,
  label,
  help,
  error,
  optional,
  hideLabel,
  className,
  children,
}: FrameProps & { id: string; children: ReactNode }) {
  return (
    <div className={cx('flex min-w-0 flex-col gap-1', className)}>
      <label htmlFor={id} className={hideLabel ? 'sr-only' : 'text-sm font-medium text-ink'}>
        {label}
        {optional && <span className="font-normal text-ink-3"> · {texts.common.optional}</span>}
      </label>
      {children}
      {error ? (
        <p id={`${id}-error`} className="text-sm text-bad">
          {error}
        </p>
      ) : null}
      {help && !error ? (
        <p id={`${id}-help`} className="text-sm text-ink-3">
          {help}
        </p>
      ) : null}
    </div>
  )
}

function described(id: string, error: string | null | undefined, help: ReactNode) {
  const ids = [error ? `${id}-error` : null, help && !error ? `${id}-help` : null].filter(Boolean).join(' ')
  return { 'aria-invalid': error ? true : undefined, 'aria-describedby': ids === '' ? undefined : ids }
}

type TextFieldProps = FrameProps &
  Omit<InputHTMLAttributes<HTMLInputElement>, keyof FrameProps> & { mono?: boolean; action?: ReactNode }

export function TextField({
  label,
  help,
  error,
  optional,
  hideLabel,
  className,
  mono,
  action,
  ...input
}: TextFieldProps) {
  const id = useId()
  return (
    <Frame {...{ id, label, help, error, optional, hideLabel, className }}>
      <div className="flex gap-2">
        <input
          id={id}
          autoComplete="off"
          {...input}
          {...described(id, error, help)}
          className={cx(controlClass(Boolean(error)), 'h-8 px-2.5', mono && 'font-mono text-sm')}
        />
        {action}
      </div>
    </Frame>
  )
}

type TextAreaProps = FrameProps &
  Omit<TextareaHTMLAttributes<HTMLTextAreaElement>, keyof FrameProps> & { mono?: boolean }

export function TextArea({ label, help, error, optional, hideLabel, className, mono, ...input }: TextAreaProps) {
  const id = useId()
  return (
    <Frame {...{ id, label, help, error, optional, hideLabel, className }}>
      <textarea
        id={id}
        spellCheck={false}
        {...input}
        {...described(id, error, help)}
        className={cx(controlClass(Boolean(error)), 'scroll-thin px-2.5 py-1.5', mono && 'font-mono text-sm')}
      />
    </Frame>
  )
}

type SelectFieldProps = FrameProps & Omit<SelectHTMLAttributes<HTMLSelectElement>, keyof FrameProps>

/** The browser's own list: the best on phones and with screen readers. */
export function SelectField({
  label,
  help,
  error,
  optional,
  hideLabel,
  className,
  children,
  ...select
}: SelectFieldProps) {
  const id = useId()
  return (
    <Frame {...{ id, label, help, error, optional, hideLabel, className }}>
      <select
        id={id}
        {...select}
        {...described(id, error, help)}
        className={cx(controlClass(Boolean(error)), 'h-8 cursor-pointer px-2 pr-7')}
      >
        {children}
      </select>
    </Frame>
  )
}

interface SwitchProps {
  label: ReactNode
  help?: ReactNode
  error?: string | null
  checked: boolean
  onChange: (checked: boolean) => void
  disabled?: boolean
  hideLabel?: boolean
  className?: string
}

export function Switch({ label, help, error, checked, onChange, disabled, hideLabel, className }: SwitchProps) {
  const id = useId()
  return (
    <div className={cx('flex min-w-0 flex-col gap-1', className)}>
      <label htmlFor={id} className="inline-flex w-fit items-center gap-2.5 text-base">
        <input
          id={id}
          type="checkbox"
          role="switch"
          aria-checked={checked}
          checked={checked}
          disabled={disabled}
          onChange={(event) => onChange(event.target.checked)}
          {...described(id, error, help)}
          className="relative h-5 w-9 shrink-0 cursor-pointer appearance-none rounded-full border border-line-strong bg-sunken transition-colors before:absolute before:top-0.5 before:left-0.5 before:size-3.5 before:rounded-full before:bg-line-strong before:transition-transform checked:border-accent checked:bg-accent checked:before:translate-x-4 checked:before:bg-on-accent disabled:opacity-50"
        />
        <span className={hideLabel ? 'sr-only' : undefined}>{label}</span>
      </label>
      {error ? (
        <p id={`${id}-error`} className="text-sm text-bad">
          {error}
        </p>
      ) : null}
      {help && !error ? (
        <p id={`${id}-help`} className="text-sm text-ink-3">
          {help}
        </p>
      ) : null}
    </div>
  )
}

interface CheckProps {
  label: ReactNode
  help?: ReactNode
  checked: boolean
  onChange: (checked: boolean) => void
  disabled?: boolean
}

export function Check({ label, help, checked, onChange, disabled }: CheckProps) {
  const id = useId()
  return (
    <label htmlFor={id} className="flex w-fit items-start gap-2">
      <input
        id={id}
        type="checkbox"
        checked={checked}
        disabled={disabled}
        onChange={(event) => onChange(event.target.checked)}
        aria-describedby={help ? `${id}-help` : undefined}
        className="mt-0.5 size-4 shrink-0 accent-(--accent)"
      />
      <span>
        {label}
        {help ? (
          <span id={`${id}-help`} className="block text-sm text-ink-3">
            {help}
          </span>
        ) : null}
      </span>
    </label>
  )
}

interface SegmentsProps<Value extends string> {
  label: string
  options: readonly { readonly value: Value; readonly label: ReactNode }[]
  value: Value
  onChange: (value: Value) => void
  /** Fill the width, for few options on a phone. */
  wide?: boolean
}

/** One of a few, all visible. Radio buttons underneath, so arrows work as everywhere. */
export function Segments<Value extends string>({ label, options, value, onChange, wide }: SegmentsProps<Value>) {
  const name = useId()
  return (
    <fieldset className={cx('flex min-w-0 rounded-md border border-line bg-sunken p-0.5', wide ? 'w-full' : 'w-fit')}>
      <legend className="sr-only">{label}</legend>
      {options.map((option) => (
        <label
          key={option.value}
          className={cx(
            'relative inline-flex h-7 min-w-0 items-center justify-center gap-1.5 rounded px-2.5 text-sm whitespace-nowrap has-focus-visible:outline-2 has-focus-visible:outline-accent-ink',
            wide && 'flex-1',
            option.value === value
              ? 'bg-raised font-medium text-ink shadow-[0_1px_2px_rgb(0_0_0/0.12)]'
              : 'text-ink-2 hover:text-ink',
          )}
        >
          <input
            type="radio"
            name={name}
            checked={option.value === value}
            onChange={() => onChange(option.value)}
            className="absolute inset-0 size-full cursor-pointer appearance-none rounded outline-none"
          />
          <span className="pointer-events-none inline-flex items-center gap-1.5 truncate">{option.label}</span>
        </label>
      ))}
    </fieldset>
  )
}
