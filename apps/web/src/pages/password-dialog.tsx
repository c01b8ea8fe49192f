import { useState } from 'react'
import { client, problemFrom } from '../api/client.ts'
import { Button } from '../components/button.tsx'
import { Dialog, DialogActions } from '../components/dialog.tsx'
import { ErrorNote } from '../components/error-state.tsx'
import { TextField } from '../components/field.tsx'
import { Form } from '../components/form.tsx'
import { toastDone } from '../components/toast.tsx'
import { errorsAt } from '../lib/field-errors.ts'
import { texts } from '../texts/index.ts'

const t = texts.password

export function PasswordDialog({ open, onClose, user }: { open: boolean; onClose: () => void; user: string }) {
  return (
    <Dialog open={open} onClose={onClose} title={t.title} detail={t.detail}>
      <PasswordForm user={user} onClose={onClose} />
    </Dialog>
  )
}

function PasswordForm({ user, onClose }: { user: string; onClose: () => void }) {
  const [current, setCurrent] = useState('')
  const [next, setNext] = useState('')
  const [repeat, setRepeat] = useState('')
  const [busy, setBusy] = useState(false)
  const [tried, setTried] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const errors = error === null ? undefined : problemFrom(error).errors
  const short = tried && next.length < 10 ? t.tooShort : null
  const differ = tried && repeat !== next ? t.differ : null

  const submit = async () => {
    setTried(true)
    if (next.length < 10 || repeat !== next) return
    setBusy(true)
    setError(null)
    try {
      await client.call('changePassword', { body: { current, new: next } })
      toastDone(t.done)
      onClose()
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
    }
  }
  return (
    <Form onSubmit={submit}>
      <input type="text" name="username" autoComplete="username" value={user} readOnly hidden />
      <TextField
        label={t.current}
        type="password"
        autoComplete="current-password"
        required
        value={current}
        onChange={(event) => setCurrent(event.target.value)}
        error={errorsAt(errors, '/current')}
      />
      <TextField
        label={t.next}
        type="password"
        autoComplete="new-password"
        required
        value={next}
        onChange={(event) => setNext(event.target.value)}
        help={t.nextHelp}
        error={short ?? errorsAt(errors, '/new')}
      />
      <TextField
        label={t.repeat}
        type="password"
        autoComplete="new-password"
        required
        value={repeat}
        onChange={(event) => setRepeat(event.target.value)}
        error={differ}
      />
      {error !== null && <ErrorNote error={error} hideErrors={['/current', '/new']} />}
      <DialogActions>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button type="submit" look="primary" busy={busy}>
          {t.submit}
        </Button>
      </DialogActions>
    </Form>
  )
}
