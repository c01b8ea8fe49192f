import type { InviteView } from '@stackquay/contract'
import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { client, isStatus, problemFrom } from '../api/client.ts'
import { meQuery } from '../api/queries.ts'
import { Button, buttonClass } from '../components/button.tsx'
import { ErrorNote } from '../components/error-state.tsx'
import { TextField } from '../components/field.tsx'
import { Form } from '../components/form.tsx'
import { errorsAt } from '../lib/field-errors.ts'
import { formatDateTime } from '../lib/format.ts'
import { texts } from '../texts/index.ts'
import { AuthLayout } from './auth-layout.tsx'
import { useTitle } from './use-title.ts'

const t = texts.welcome

/** Where an invitation or a reset leads. Its code stands behind `#`, which no browser sends anywhere. */
export function WelcomePage() {
  useTitle(t.pageTitle)
  const [code] = useState(() => window.location.hash.slice(1))
  const [invite, setInvite] = useState<InviteView | null>(null)
  const [error, setError] = useState<unknown>(null)
  const [isDone, setDone] = useState(false)
  useEffect(() => {
    if (code === '') return setError('none')
    client.call('getInvite', { params: { token: code } }).then(setInvite, setError)
  }, [code])
  if (isDone)
    return (
      <AuthLayout title={t.pageTitle} detail={t.done}>
        <LogIn />
      </AuthLayout>
    )
  if (error === 'none' || isStatus(error, 404))
    return (
      <AuthLayout title={t.overTitle} detail={t.overDetail}>
        <LogIn />
      </AuthLayout>
    )
  if (error !== null)
    return (
      <AuthLayout title={t.pageTitle}>
        <ErrorNote error={error} />
      </AuthLayout>
    )
  if (invite === null)
    return (
      <AuthLayout title={t.pageTitle} detail={t.looking}>
        {null}
      </AuthLayout>
    )
  return (
    <AuthLayout title={t[invite.kind](invite.username)} detail={t.detail(formatDateTime(invite.expiresAt))}>
      <SetPassword code={code} username={invite.username} onDone={() => setDone(true)} onOver={setError} />
    </AuthLayout>
  )
}

function LogIn() {
  return (
    <Link to="/login" search={{}} className={buttonClass('primary', 'lg')}>
      {t.logIn}
    </Link>
  )
}

interface SetPasswordProps {
  code: string
  username: string
  onDone: () => void
  onOver: (error: unknown) => void
}

function SetPassword({ code, username, onDone, onOver }: SetPasswordProps) {
  const queries = useQueryClient()
  const [password, setPassword] = useState('')
  const [again, setAgain] = useState('')
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const differ = again !== '' && again !== password
  const submit = async () => {
    if (again !== password) return
    setBusy(true)
    setError(null)
    try {
      await client.call('redeemInvite', { params: { token: code }, body: { password } })
      // A session of that person in this browser ended with it.
      queries.removeQueries({ queryKey: meQuery.queryKey })
      window.history.replaceState(window.history.state, '', window.location.pathname)
      onDone()
    } catch (failure) {
      if (isStatus(failure, 404)) return onOver(failure)
      setError(failure)
    } finally {
      setBusy(false)
    }
  }
  return (
    <Form onSubmit={submit}>
      <TextField label={t.user} readOnly autoComplete="username" value={username} />
      <TextField
        label={t.password}
        help={t.passwordHelp}
        type="password"
        required
        autoFocus
        minLength={10}
        maxLength={256}
        autoComplete="new-password"
        value={password}
        onChange={(event) => setPassword(event.target.value)}
        error={error === null ? null : errorsAt(problemFrom(error).errors, '/password')}
      />
      <TextField
        label={t.repeat}
        type="password"
        required
        autoComplete="new-password"
        value={again}
        onChange={(event) => setAgain(event.target.value)}
        error={differ ? t.differ : null}
      />
      {error !== null && <ErrorNote error={error} hideErrors={['/password']} />}
      <Button type="submit" look="primary" size="lg" busy={busy} disabled={differ}>
        {t.submit}
      </Button>
    </Form>
  )
}
