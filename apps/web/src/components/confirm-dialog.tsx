import type { ReactNode } from 'react'
import { useState } from 'react'
import { texts } from '../texts/index.ts'
import { Button, type ButtonLook } from './button.tsx'
import { Dialog, DialogActions } from './dialog.tsx'
import { ErrorNote } from './error-state.tsx'
import { TextField } from './field.tsx'

export interface ConfirmProps {
  open: boolean
  onClose: () => void
  title: string
  detail?: ReactNode
  children?: ReactNode
  /** What must be typed before the button works; nothing for acts that can be taken back. */
  word?: string
  submit: string
  /** Acts that destroy nothing are not shown as if they did. */
  look?: ButtonLook
  disabled?: boolean
  wide?: boolean
  onConfirm: (typed: string) => Promise<unknown>
}

export function ConfirmDialog({ open, onClose, title, detail, children, wide, ...form }: ConfirmProps) {
  return (
    <Dialog open={open} onClose={onClose} title={title} detail={detail} wide={wide}>
      {children}
      <ConfirmForm {...form} onClose={onClose} />
    </Dialog>
  )
}

function ConfirmForm({
  word,
  submit,
  look = 'danger',
  disabled = false,
  onConfirm,
  onClose,
}: Omit<ConfirmProps, 'open' | 'title' | 'detail' | 'children' | 'wide'>) {
  const [typed, setTyped] = useState('')
  const [error, setError] = useState<unknown>(null)
  const [busy, setBusy] = useState(false)
  const act = async () => {
    setBusy(true)
    setError(null)
    try {
      await onConfirm(typed)
      onClose()
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
    }
  }
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault()
        void act()
      }}
    >
      {word !== undefined && (
        <TextField
          label={texts.common.typeToConfirm(word)}
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
          mono
          autoFocus
          spellCheck={false}
        />
      )}
      {error !== null && <ErrorNote error={error} />}
      <DialogActions>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button type="submit" look={look} busy={busy} disabled={disabled || (word !== undefined && typed !== word)}>
          {submit}
        </Button>
      </DialogActions>
    </form>
  )
}
