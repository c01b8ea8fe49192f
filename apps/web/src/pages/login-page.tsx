import { ApiError } from '@stackquay/client'
import type { SecondFactorAsked } from '@stackquay/contract'
import { useSearch } from '@tanstack/react-router'
import { Fingerprint } from 'lucide-react'
import { useEffect, useState } from 'react'
import { client, problemFrom } from '../api/client.ts'
import { deviceKeyFor } from '../api/device-keys.ts'
import { Button } from '../components/button.tsx'
import { ErrorNote } from '../components/error-state.tsx'
import { TextField } from '../components/field.tsx'
import { Form } from '../components/form.tsx'
import { useNow } from '../components/use-now.ts'
import { askPasskey, passkeysHere } from '../lib/passkeys.ts'
import { withPasskey } from '../modules/problem-of-passkey.ts'
import { texts } from '../texts/index.ts'
import { AuthLayout } from './auth-layout.tsx'
import { type Session, useEnterSession } from './login/enter-session.ts'
import { SecondStep } from './login/second-step.tsx'
import { LoginProvider } from './login-provider.tsx'
import { useTitle } from './use-title.ts'

const t = texts.login

export function LoginPage() {
  useTitle(t.pageTitle)
  const { next } = useSearch({ from: '/login' })
  const enter = useEnterSession(next)
  const [asked, setAsked] = useState<(SecondFactorAsked & { readonly name: string }) | null>(null)
  if (asked === null) {
    const ask = (name: string, challenge: SecondFactorAsked) => setAsked({ ...challenge, name })
    return (
      <AuthLayout title={t.title} detail={next === undefined ? undefined : t.sessionEnded}>
        <LoginProvider next={next ?? '/'}>
          <FirstStep onSession={enter} onAsked={ask} />
        </LoginProvider>
      </AuthLayout>
    )
  }
  return (
    <AuthLayout title={t.secondTitle} detail={t.secondDetail(asked.name)}>
      <SecondStep asked={asked} onSession={enter} onBack={() => setAsked(null)} />
    </AuthLayout>
  )
}

interface FirstStepProps {
  onSession: (session: Session) => Promise<void>
  onAsked: (name: string, asked: SecondFactorAsked) => void
}

function FirstStep({ onSession, onAsked }: FirstStepProps) {
  const [username, setUsername] = useState('')
  const [password, setPassword] = useState('')
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const [until, setUntil] = useState<number | null>(null)

  const submit = (act: () => Promise<void>) => async () => {
    setBusy(true)
    setError(null)
    try {
      await act()
    } catch (failure) {
      setError(failure)
      const seconds =
        failure instanceof ApiError && failure.status === 429 ? Number(failure.headers.get('retry-after')) : 0
      if (seconds > 0) setUntil(Date.now() + seconds * 1000)
    } finally {
      setBusy(false)
    }
  }
  const byPassword = async () => {
    const name = username.trim()
    const answer = await client.call('login', { body: { username: name, password, ...deviceKeyFor(name) } })
    if ('challenge' in answer) onAsked(name, answer)
    else await onSession(answer)
  }
  const byPasskey = () =>
    withPasskey(async () => {
      const passkey = await askPasskey(await client.call('beginPasskeyLogin'))
      await onSession(await client.call('loginWithPasskey', { body: { passkey, ...deviceKeyFor(username.trim()) } }))
    })
  return (
    <Form onSubmit={submit(byPassword)}>
      <TextField
        label={t.username}
        required
        autoFocus
        autoComplete="username"
        autoCapitalize="none"
        spellCheck={false}
        value={username}
        onChange={(event) => setUsername(event.target.value)}
      />
      <TextField
        label={t.password}
        type="password"
        required
        autoComplete="current-password"
        value={password}
        onChange={(event) => setPassword(event.target.value)}
      />
      {until !== null ? (
        <Throttled until={until} onOver={() => setUntil(null)} />
      ) : (
        error !== null && problemFrom(error).status !== 429 && <ErrorNote error={error} />
      )}
      <Button type="submit" look="primary" size="lg" busy={busy} disabled={until !== null}>
        {busy ? t.submitting : t.submit}
      </Button>
      {passkeysHere() === null && (
        <Button icon={Fingerprint} size="lg" disabled={busy} onClick={() => void submit(byPasskey)()}>
          {t.usePasskey}
        </Button>
      )}
    </Form>
  )
}

function Throttled({ until, onOver }: { until: number; onOver: () => void }) {
  const left = Math.ceil((until - useNow()) / 1000)
  useEffect(() => {
    if (left <= 0) onOver()
  }, [left, onOver])
  return (
    <p role="status" className="numbers rounded-lg bg-warn-soft px-3 py-2.5">
      {t.throttled(Math.max(1, left))}
    </p>
  )
}
