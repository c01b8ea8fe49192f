import { CircleAlert, CircleCheck, X } from 'lucide-react'
import { useSyncExternalStore } from 'react'
import { problemFrom } from '../api/client.ts'
import { texts } from '../texts/index.ts'
import { Button, IconButton } from './button.tsx'
import { cx } from './class-names.ts'

interface Toast {
  readonly id: number
  readonly tone: 'good' | 'bad'
  readonly title: string
  readonly detail?: string
  readonly action?: ToastAction
}

/** What can be done about it at once. */
interface ToastAction {
  readonly label: string
  readonly run: () => void
}

let toasts: readonly Toast[] = []
let counter = 0
const listeners = new Set<() => void>()

function set(next: readonly Toast[]): void {
  toasts = next
  for (const listener of listeners) listener()
}

function show(toast: Omit<Toast, 'id'>, milliseconds: number): void {
  counter += 1
  const id = counter
  set([...toasts.slice(-3), { ...toast, id }])
  setTimeout(() => dismiss(id), milliseconds)
}

function dismiss(id: number): void {
  set(toasts.filter((other) => other.id !== id))
}

export function toastDone(title: string, action?: ToastAction): void {
  show({ tone: 'good', title, ...(action === undefined ? {} : { action }) }, action === undefined ? 4000 : 12_000)
}

/** For an act that was done, and found something wrong. */
export function toastFailed(title: string, detail: string): void {
  show({ tone: 'bad', title, detail }, 12_000)
}

/** For acts that have no form to show their problem in. Stays long enough to be read. */
export function toastProblem(error: unknown): void {
  const { title, detail, hint } = problemFrom(error)
  show({ tone: 'bad', title, detail: [detail === title ? '' : detail, hint].filter(Boolean).join(' ') }, 12_000)
}

export function Toasts() {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => toasts,
  )
  return (
    <section
      aria-live="polite"
      aria-label={texts.common.messages}
      className="pointer-events-none fixed right-0 bottom-0 z-50 flex w-full flex-col items-end gap-2 p-4 sm:max-w-md"
    >
      {shown.map((toast) => {
        const Icon = toast.tone === 'good' ? CircleCheck : CircleAlert
        return (
          <div
            key={toast.id}
            className="pointer-events-auto flex w-full animate-appear items-start gap-2.5 rounded-lg border border-line bg-raised py-2.5 pr-2 pl-3 shadow-pop"
          >
            <Icon
              aria-hidden
              className={cx('mt-0.5 size-4 shrink-0', toast.tone === 'good' ? 'text-good' : 'text-bad')}
            />
            <div className="min-w-0 flex-1">
              <p className="font-medium">{toast.title}</p>
              {toast.detail && <p className="break-words text-sm text-ink-2">{toast.detail}</p>}
            </div>
            {toast.action !== undefined && (
              <Button
                size="sm"
                onClick={() => {
                  dismiss(toast.id)
                  toast.action?.run()
                }}
              >
                {toast.action.label}
              </Button>
            )}
            <IconButton
              icon={X}
              label={texts.common.close}
              size="sm"
              className="-mt-1"
              onClick={() => dismiss(toast.id)}
            />
          </div>
        )
      })}
    </section>
  )
}
