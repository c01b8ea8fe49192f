import { ApiError } from '@stackquay/client'
import { useQueryClient } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { client, problemFrom } from '../api/client.ts'
import { deviceKeyFor, keepDeviceKey } from '../api/device-keys.ts'
import { keepProviderSession } from '../api/provider-sign-in.ts'
import { meQuery } from '../api/queries.ts'
import { keepSessionKey } from '../api/session-key.ts'
import { Button } from '../components/button.tsx'
import { ErrorNote } from '../components/error-state.tsx'
import { TextField } from '../components/field.tsx'
import { Form } from '../components/form.tsx'
import { useNow } from '../components/use-now.ts'
import { texts } from '../texts/index.ts'
import { AuthLayout } from './auth-layout.tsx'
import { LoginProvider } from './login-provider.tsx'
import { useTitle } from './use-title.ts'

const t = texts.login

export function LoginPage() {
  useTitle(t.pageTitle)
  const { next } = useSearch({ from: '/login' })
  const navigate = useNavigate()
  const queries = useQueryClient()
  const [username, setUsername] = useState('')
  const [password, setPassword] = useState('')
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const [until, setUntil] = useState<number | null>(null)

  const submit = async () => {
    setBusy(true)
    setError(null)
    try {
      const name = username.trim()
      const { deviceKey, csrfToken, ...me } = await client.call('login', {
        body: { username: name, password, ...deviceKeyFor(name) },
      })
      keepDeviceKey(name, deviceKey)
      keepSessionKey(csrfToken)
      keepProviderSession(false)
      queries.setQueryData(meQuery.queryKey, me)
      await navigate({ href: next ?? '/' })
    } catch (failure) {
      setError(failure)
      const seconds =
        failure instanceof ApiError && failure.status === 429 ? Number(failure.headers.get('retry-after')) : 0
      if (seconds > 0) setUntil(Date.now() + seconds * 1000)
    } finally {
      setBusy(false)
    }
  }
  return (
    <AuthLayout title={t.title} detail={next === undefined ? undefined : t.sessionEnded}>
      <LoginProvider next={next ?? '/'}>
        <Form onSubmit={submit}>
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
        </Form>
      </LoginProvider>
    </AuthLayout>
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
