import type { ReactNode } from 'react'
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { DialogActions } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-state.tsx'
import { TextField } from '../../components/field.tsx'
import { Form } from '../../components/form.tsx'
import { errorsAt } from '../../lib/field-errors.ts'
import { useSubmit } from '../../modules/use-submit.ts'
import { texts } from '../../texts/index.ts'

interface PasswordStepProps {
  submit: string
  danger?: boolean
  onClose: () => void
  onPassword: (password: string) => Promise<void>
  /** Fields that come before the password, and show their own errors. */
  fields?: readonly string[]
  children?: (errorAt: (pointer: string) => string | null) => ReactNode
}

/** An open page alone must neither add a factor nor take one away. */
export function PasswordStep({ submit, danger, onClose, onPassword, fields = [], children }: PasswordStepProps) {
  const [password, setPassword] = useState('')
  const { busy, error, problem, run } = useSubmit()
  const errorAt = (pointer: string) => errorsAt(problem?.errors, pointer)
  return (
    <Form onSubmit={() => run(() => onPassword(password))}>
      {children?.(errorAt)}
      <TextField
        label={texts.secondFactor.password}
        type="password"
        autoComplete="current-password"
        required
        autoFocus={children === undefined}
        value={password}
        onChange={(event) => setPassword(event.target.value)}
        error={errorAt('/password')}
      />
      {error !== null && <ErrorNote error={error} hideErrors={['/password', ...fields]} />}
      <DialogActions>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button type="submit" look={danger ? 'danger' : 'primary'} busy={busy}>
          {submit}
        </Button>
      </DialogActions>
    </Form>
  )
}
