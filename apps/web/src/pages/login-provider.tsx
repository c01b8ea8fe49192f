import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { LogIn } from 'lucide-react'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { client } from '../api/client.ts'
import {
  beginProviderRound,
  canBeginProviderRound,
  keepProviderSession,
  type Returned,
  takeReturned,
} from '../api/provider-sign-in.ts'
import { meQuery, oidcOfferQuery } from '../api/queries.ts'
import { keepSessionKey } from '../api/session-key.ts'
import { Button, buttonClass } from '../components/button.tsx'
import { ErrorNote } from '../components/error-state.tsx'
import { TextField } from '../components/field.tsx'
import { Form } from '../components/form.tsx'
import { toastDone } from '../components/toast.tsx'
import { useSubmit } from '../modules/use-submit.ts'
import { texts } from '../texts/index.ts'

const t = texts.login.provider

/** The way in by a provider, where one is set, before the other ones; and the end of a round that came back from it, alone. */
export function LoginProvider({ next, children }: { next: string; children: ReactNode }) {
  const offer = useQuery(oidcOfferQuery).data
  const [returned, setReturned] = useState<Returned | null>(null)
  const taken = useRef(false)
  useEffect(() => {
    if (taken.current) return
    taken.current = true
    setReturned(takeReturned())
  }, [])
  if (returned?.kind === 'code') return <Arrived returned={returned} onDone={() => setReturned(null)} />
  return (
    <>
      {returned?.kind === 'failed' && (
        <p role="alert" className="mb-4 rounded-lg bg-bad-soft px-3 py-2.5">
          {t.failed[returned.reason as keyof typeof t.failed] ?? t.failed.invalid}
        </p>
      )}
      {offer?.label != null && (
        <div className="mb-5 flex flex-col gap-4 border-b border-line pb-5">
          <ProviderButton label={offer.label} origin={offer.origin} next={next} />
        </div>
      )}
      {children}
    </>
  )
}

/** The provider leads back to one address alone, and what this tab keeps is of its own. */
function ProviderButton({ label, origin, next }: { label: string; origin: string; next: string }) {
  const { busy, error, run } = useSubmit()
  if (origin !== window.location.origin) {
    return (
      <a href={`${origin}/login`} className={buttonClass('secondary', 'lg')}>
        {t.elsewhere(label, new URL(origin).host)}
      </a>
    )
  }
  if (!canBeginProviderRound()) return <p className="text-ink-2">{t.insecure(label)}</p>
  return (
    <>
      <Button icon={LogIn} size="lg" busy={busy} onClick={() => void run(() => beginProviderRound('login', next))}>
        {label}
      </Button>
      {error !== null && <ErrorNote error={error} />}
    </>
  )
}

function Arrived({ returned, onDone }: { returned: Extract<Returned, { kind: 'code' }>; onDone: () => void }) {
  const { code, begun } = returned
  if (begun.purpose === 'link') return <LinkForm code={code} verifier={begun.verifier} onDone={onDone} />
  return <Finishing code={code} verifier={begun.verifier} next={begun.next} onBack={onDone} />
}

interface FinishingProps {
  code: string
  verifier: string
  next: string
  onBack: () => void
}

function Finishing({ code, verifier, next, onBack }: FinishingProps) {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const { error, run } = useSubmit()
  const began = useRef(false)
  useEffect(() => {
    if (began.current) return
    began.current = true
    void run(async () => {
      const { csrfToken, deviceKey: _none, ...me } = await client.call('finishOidc', { body: { code, verifier } })
      keepSessionKey(csrfToken)
      keepProviderSession(true)
      queries.clear()
      queries.setQueryData(meQuery.queryKey, me)
      await navigate({ href: next })
    })
  })
  return error === null ? (
    <p role="status">{t.finishing}</p>
  ) : (
    <div className="flex flex-col items-start gap-4">
      <ErrorNote error={error} />
      <Button onClick={onBack}>{t.back}</Button>
    </div>
  )
}

/** Who sits at an open page must not link an identity of their own to it. */
function LinkForm({ code, verifier, onDone }: { code: string; verifier: string; onDone: () => void }) {
  const navigate = useNavigate()
  const [password, setPassword] = useState('')
  const { busy, error, run } = useSubmit()
  const link = async () => {
    await client.call('linkOidc', { body: { code, verifier, password } })
    toastDone(t.linked)
    onDone()
    await navigate({ to: '/settings/sessions' })
  }
  return (
    <Form onSubmit={() => run(link)}>
      <p>{t.linkDetail}</p>
      <TextField
        label={texts.password.current}
        type="password"
        required
        autoComplete="current-password"
        value={password}
        onChange={(event) => setPassword(event.target.value)}
      />
      {error !== null && <ErrorNote error={error} />}
      <Button type="submit" look="primary" busy={busy}>
        {t.linkSubmit}
      </Button>
      <Button onClick={() => void navigate({ to: '/settings/sessions' })}>{texts.common.cancel}</Button>
    </Form>
  )
}

/** On the page of one’s own sessions. */
export function LinkProvider() {
  const offer = useQuery(oidcOfferQuery).data
  const { busy, error, run } = useSubmit()
  if (offer?.label == null || offer.origin !== window.location.origin || !canBeginProviderRound()) return null
  return (
    <div className="flex flex-col items-start gap-3">
      <p className="text-sm text-ink-2">{t.linkOffer(offer.label)}</p>
      <Button busy={busy} onClick={() => void run(() => beginProviderRound('link', '/settings/sessions'))}>
        {t.link}
      </Button>
      {error !== null && <ErrorNote error={error} />}
    </div>
  )
}
