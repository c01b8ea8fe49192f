import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { client, isStatus, problemFrom } from '../api/client.ts'
import { keepDeviceKey } from '../api/device-keys.ts'
import { meQuery } from '../api/queries.ts'
import { keepSessionKey } from '../api/session-key.ts'
import { Button } from '../components/button.tsx'
import { ErrorNote } from '../components/error-state.tsx'
import { TextField } from '../components/field.tsx'
import { Form } from '../components/form.tsx'
import { errorsAt } from '../lib/field-errors.ts'
import { texts } from '../texts/index.ts'
import { AuthLayout } from './auth-layout.tsx'
import { useTitle } from './use-title.ts'

const t = texts.setup

export function SetupPage() {
  useTitle(t.pageTitle)
  const navigate = useNavigate()
  const queries = useQueryClient()
  const [code, setCode] = useState('')
  const [username, setUsername] = useState('')
  const [password, setPassword] = useState('')
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const problem = error === null ? null : problemFrom(error)

  const submit = async () => {
    setBusy(true)
    setError(null)
    try {
      const { deviceKey, csrfToken, ...me } = await client.call('completeSetup', {
        body: { code: code.trim(), username: username.trim(), password },
      })
      keepDeviceKey(me.user, deviceKey)
      keepSessionKey(csrfToken)
      queries.setQueryData(meQuery.queryKey, me)
      await navigate({ to: '/' })
    } catch (failure) {
      // Another person was faster: that administrator logs in.
      if (isStatus(failure, 409)) return void navigate({ to: '/login', search: {} })
      setError(failure)
    } finally {
      setBusy(false)
    }
  }
  return (
    <AuthLayout title={t.title} detail={t.detail}>
      <Form onSubmit={submit}>
        <TextField
          label={t.code}
          help={t.codeHelp}
          mono
          required
          autoFocus
          spellCheck={false}
          value={code}
          onChange={(event) => setCode(event.target.value)}
          error={
            problem?.code === 'setup_code_wrong'
              ? `${problem.detail} ${problem.hint}`
              : errorsAt(problem?.errors, '/code')
          }
        />
        <TextField
          label={t.username}
          help={t.usernameHelp}
          required
          autoComplete="username"
          autoCapitalize="none"
          spellCheck={false}
          value={username}
          onChange={(event) => setUsername(event.target.value)}
          error={errorsAt(problem?.errors, '/username')}
        />
        <TextField
          label={t.password}
          help={t.passwordHelp}
          type="password"
          required
          minLength={10}
          autoComplete="new-password"
          value={password}
          onChange={(event) => setPassword(event.target.value)}
          error={errorsAt(problem?.errors, '/password')}
        />
        {problem !== null && problem.code !== 'setup_code_wrong' && (
          <ErrorNote error={error} hideErrors={['/code', '/username', '/password']} />
        )}
        <Button type="submit" look="primary" size="lg" busy={busy}>
          {busy ? t.submitting : t.submit}
        </Button>
      </Form>
    </AuthLayout>
  )
}
