import { Dialog as Base } from '@base-ui/react/dialog'
import { X } from 'lucide-react'
import type { ReactNode } from 'react'
import { texts } from '../texts/index.ts'
import { buttonBase } from './button.tsx'
import { cx } from './class-names.ts'

interface DialogProps {
  open: boolean
  onClose: () => void
  title: ReactNode
  detail?: ReactNode
  children: ReactNode
  wide?: boolean
}

export function Dialog({ open, onClose, title, detail, children, wide }: DialogProps) {
  return (
    <Base.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Base.Portal>
        <Base.Backdrop className="fixed inset-0 z-40 bg-scrim" />
        <Base.Popup
          className={cx(
            'scroll-thin fixed inset-x-0 bottom-0 z-40 mx-auto max-h-[92dvh] w-full animate-appear overflow-y-auto rounded-t-xl border border-line bg-raised p-5 shadow-pop sm:top-[10vh] sm:bottom-auto sm:max-h-[82vh] sm:rounded-xl',
            wide ? 'sm:max-w-2xl' : 'sm:max-w-md',
          )}
        >
          <div className="flex items-start justify-between gap-4">
            <Base.Title className="text-lg font-semibold">{title}</Base.Title>
            <Base.Close
              aria-label={texts.common.close}
              className={cx(buttonBase, '-mt-1 -mr-1.5 size-8 border-transparent text-ink-2 hover:bg-hover')}
            >
              <X aria-hidden className="size-4" />
            </Base.Close>
          </div>
          {detail && <Base.Description className="mt-1 text-ink-2">{detail}</Base.Description>}
          <div className="mt-4">{children}</div>
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  )
}

/** The row of buttons at a dialog's end. */
export function DialogActions({ children }: { children: ReactNode }) {
  return <div className="mt-5 flex flex-wrap justify-end gap-2">{children}</div>
}
