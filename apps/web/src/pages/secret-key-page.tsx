import type { CallResult } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { Eye, RotateCcwKey } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { client } from '../api/client.ts'
import { secretKeyQuery } from '../api/queries.ts'
import { Button } from '../components/button.tsx'
import { Choices } from '../components/choices.tsx'
import { CodeBlock } from '../components/code-block.tsx'
import { Consequences } from '../components/consequences.tsx'
import { Dialog, DialogActions } from '../components/dialog.tsx'
import { ErrorNote } from '../components/error-state.tsx'
import { Facts } from '../components/facts.tsx'
import { TextField } from '../components/field.tsx'
import { Form } from '../components/form.tsx'
import { Loaded } from '../components/loaded.tsx'
import { PageHeader, Panel } from '../components/panel.tsx'
import { errorsAt } from '../lib/field-errors.ts'
import { formatDateTime } from '../lib/format.ts'
import { useSubmit } from '../modules/use-submit.ts'
import { texts } from '../texts/index.ts'
import { useTitle } from './use-title.ts'

const t = texts.secretKey

type Revealed = CallResult<'revealSecretKey'>

type Replaced = CallResult<'replaceSecretKey'>

export function SecretKeyPage() {
  useTitle(t.title)
  const query = useQuery(secretKeyQuery)
  const [revealing, setRevealing] = useState(false)
  const [replacing, setReplacing] = useState(false)
  return (
    <div className="flex w-full max-w-4xl flex-col gap-4 px-4 py-5 sm:px-6">
      <PageHeader title={t.title} detail={t.detail} />
      <Loaded query={query} rows={3}>
        {(data) => (
          <>
            <Panel title={t.about}>
              <Facts
                items={[
                  [t.id, <code key="id">{data.id}</code>],
                  [t.source, t.sources[data.source]],
                  [
                    t.since,
                    <span key="since" className="numbers">
                      {formatDateTime(data.createdAt)}
                    </span>,
                  ],
                ]}
              />
            </Panel>
            <Panel title={t.keep}>
              <p className="mb-4 max-w-prose text-ink-2">{t.keepDetail}</p>
              <Button icon={Eye} onClick={() => setRevealing(true)}>
                {t.reveal}
              </Button>
            </Panel>
            <Panel title={t.replace}>
              {data.source === 'environment' ? (
                <p className="max-w-prose text-ink-2">{t.external}</p>
              ) : (
                <div className="max-w-prose">
                  <p className="mb-3 text-ink-2">{t.replaceDetail}</p>
                  <Consequences items={t.replaceConsequences} />
                  <Button icon={RotateCcwKey} className="text-bad" onClick={() => setReplacing(true)}>
                    {t.replaceButton}
                  </Button>
                </div>
              )}
            </Panel>
          </>
        )}
      </Loaded>
      <Dialog open={revealing} onClose={() => setRevealing(false)} title={t.revealTitle} detail={t.revealDetail}>
        <Reveal onClose={() => setRevealing(false)} />
      </Dialog>
      <Dialog open={replacing} onClose={() => setReplacing(false)} title={t.replaceTitle} detail={t.revealDetail}>
        <Replace onClose={() => setReplacing(false)} onReplaced={() => void query.refetch()} />
      </Dialog>
    </div>
  )
}

/** The key lives in this part of the page only, and goes with it. */
function Reveal({ onClose }: { onClose: () => void }) {
  const [revealed, setRevealed] = useState<Revealed | null>(null)
  if (revealed === null) {
    return (
      <PasswordAgain
        submit={t.revealSubmit}
        onClose={onClose}
        onPassword={async (password) => setRevealed(await client.call('revealSecretKey', { body: { password } }))}
      />
    )
  }
  return (
    <div className="flex flex-col gap-3">
      <CodeBlock code={revealed.key} label={t.key} wrap />
      <p className="text-sm text-ink-2">
        {t.id} <code>{revealed.id}</code>. {t.keyFormat}
      </p>
      <DialogActions>
        <Button look="primary" onClick={onClose}>
          {texts.common.done}
        </Button>
      </DialogActions>
    </div>
  )
}

function Replace({ onClose, onReplaced }: { onClose: () => void; onReplaced: () => void }) {
  const [kind, setKind] = useState<'made' | 'given'>('made')
  const [key, setKey] = useState('')
  const [replaced, setReplaced] = useState<Replaced | null>(null)
  if (replaced !== null) {
    return (
      <div role="status" className="flex flex-col gap-3">
        <p className="font-medium">{t.replacedTitle}</p>
        <p>{t.replaced(replaced.resealed)}</p>
        {replaced.unreadable > 0 && (
          <p className="rounded-md bg-warn-soft px-3 py-2">{t.unreadable(replaced.unreadable)}</p>
        )}
        <Facts
          items={[
            [t.now, <code key="now">{replaced.id}</code>],
            [t.previous, <code key="previous">{replaced.previousId}</code>],
          ]}
        />
        <DialogActions>
          <Button look="primary" onClick={onClose}>
            {texts.common.done}
          </Button>
        </DialogActions>
      </div>
    )
  }
  return (
    <PasswordAgain
      submit={t.replaceSubmit}
      danger
      onClose={onClose}
      shownFields={kind === 'given' ? ['/key'] : []}
      onPassword={async (password) => {
        const given = kind === 'given' ? { key: key.trim() } : {}
        setReplaced(await client.call('replaceSecretKey', { body: { password, ...given } }))
        onReplaced()
      }}
    >
      {(errorAt) => (
        <>
          <Choices
            label={t.kind}
            value={kind}
            onChange={setKind}
            options={(['made', 'given'] as const).map((value) => ({ value, ...t.kinds[value] }))}
          />
          {kind === 'given' && (
            <TextField
              label={t.ownKey}
              mono
              required
              spellCheck={false}
              autoCapitalize="none"
              maxLength={100}
              value={key}
              onChange={(event) => setKey(event.target.value)}
              error={errorAt('/key')}
            />
          )}
        </>
      )}
    </PasswordAgain>
  )
}

/** An open page alone must not give the key away. */
function PasswordAgain({
  submit,
  danger = false,
  onClose,
  onPassword,
  shownFields = [],
  children,
}: {
  submit: string
  danger?: boolean
  onClose: () => void
  onPassword: (password: string) => Promise<void>
  /** Fields of `children` that show their own errors. */
  shownFields?: readonly string[]
  children?: (errorAt: (pointer: string) => string | null) => ReactNode
}) {
  const [password, setPassword] = useState('')
  const { busy, error, problem, run } = useSubmit()
  const errors = problem?.errors
  const act = async () => {
    await run(async () => {
      await onPassword(password)
    })
  }
  return (
    <Form onSubmit={act}>
      {children?.((pointer) => errorsAt(errors, pointer))}
      <TextField
        label={t.password}
        type="password"
        autoComplete="current-password"
        required
        autoFocus={children === undefined}
        value={password}
        onChange={(event) => setPassword(event.target.value)}
        error={errorsAt(errors, '/password')}
      />
      {error !== null && <ErrorNote error={error} hideErrors={['/password', ...shownFields]} />}
      <DialogActions>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button type="submit" look={danger ? 'danger' : 'primary'} busy={busy}>
          {submit}
        </Button>
      </DialogActions>
    </Form>
  )
}
