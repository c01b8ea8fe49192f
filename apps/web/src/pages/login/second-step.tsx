import type { SecondFactorAsked } from '@stackquay/contract'
import { Fingerprint } from 'lucide-react'
import { useState } from 'react'
import { client } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { ErrorNote } from '../../components/error-state.tsx'
import { TextField } from '../../components/field.tsx'
import { Form } from '../../components/form.tsx'
import { askPasskey, passkeysHere } from '../../lib/passkeys.ts'
import { withPasskey } from '../../modules/problem-of-passkey.ts'
import { useSubmit } from '../../modules/use-submit.ts'
import { texts } from '../../texts/index.ts'
import { CodeField } from '../second-factor/totp-panel.tsx'
import type { Session } from './enter-session.ts'

const t = texts.login

interface SecondStepProps {
  asked: SecondFactorAsked
  onSession: (session: Session) => Promise<void>
  /** Back to name and password. */
  onBack: () => void
}

/** After the right password. */
export function SecondStep({ asked, onSession, onBack }: SecondStepProps) {
  const { challenge, kinds, passkey } = asked
  const hasPasskey = passkey !== null && passkeysHere() === null
  const [way, setWay] = useState<'totp' | 'recovery_code' | null>(
    kinds.includes('totp') ? 'totp' : hasPasskey || !kinds.includes('recovery_code') ? null : 'recovery_code',
  )
  const [text, setText] = useState('')
  const { busy, error, problem, clear, run } = useSubmit()
  const send = (factor: object) =>
    run(async () => onSession(await client.call('loginSecond', { body: { challenge, ...factor } })))
  const choose = (next: 'totp' | 'recovery_code') => {
    setText('')
    clear()
    setWay(next)
  }
  const other = way === 'recovery_code' ? 'totp' : 'recovery_code'
  return (
    <div className="flex flex-col gap-4">
      {way !== null && (
        <Form onSubmit={() => send(way === 'totp' ? { code: text.trim() } : { recoveryCode: text.trim() })}>
          {way === 'totp' ? (
            <CodeField key="totp" value={text} onChange={setText} />
          ) : (
            <TextField
              key="recovery"
              label={t.recoveryCode}
              help={t.recoveryHelp}
              required
              autoFocus
              mono
              autoComplete="off"
              maxLength={60}
              value={text}
              onChange={(event) => setText(event.target.value)}
            />
          )}
          <Button type="submit" look="primary" size="lg" busy={busy}>
            {t.submit}
          </Button>
        </Form>
      )}
      {hasPasskey && (
        <Button
          icon={Fingerprint}
          size="lg"
          look={way === null ? 'primary' : undefined}
          busy={busy && way === null}
          onClick={() =>
            void run(() =>
              withPasskey(async () =>
                onSession(
                  await client.call('loginSecond', { body: { challenge, passkey: await askPasskey(passkey) } }),
                ),
              ),
            )
          }
        >
          {t.usePasskey}
        </Button>
      )}
      {error !== null && <ErrorNote error={error} />}
      {way === null && !hasPasskey && <p className="rounded-lg bg-warn-soft px-3 py-2.5">{t.noFactorHere}</p>}
      <div className="flex flex-wrap gap-2">
        {kinds.includes(other) && (
          <Button size="sm" onClick={() => choose(other)}>
            {other === 'totp' ? t.useCode : t.useRecovery}
          </Button>
        )}
        <Button size="sm" onClick={onBack}>
          {problem?.code === 'challenge_invalid' ? t.beginAgain : t.back}
        </Button>
      </div>
    </div>
  )
}
