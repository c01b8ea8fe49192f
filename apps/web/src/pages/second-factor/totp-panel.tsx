import type { CallResult, SecondFactorView } from '@stackquay/contract'
import { Smartphone } from 'lucide-react'
import { useState } from 'react'
import { client } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { Dialog, DialogActions } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-state.tsx'
import { TextField } from '../../components/field.tsx'
import { Form } from '../../components/form.tsx'
import { Panel } from '../../components/panel.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { toastDone } from '../../components/toast.tsx'
import { QrCode } from '../../modules/qr-code.tsx'
import { useSubmit } from '../../modules/use-submit.ts'
import { texts } from '../../texts/index.ts'
import { PasswordStep } from './password-step.tsx'
import { RecoveryCodes } from './recovery-codes.tsx'

const t = texts.secondFactor

export function TotpPanel({ totp, onChanged }: { totp: SecondFactorView['totp']; onChanged: () => Promise<unknown> }) {
  const [open, setOpen] = useState<'add' | 'remove' | null>(null)
  const close = () => setOpen(null)
  return (
    <Panel title={t.app}>
      <p className="mb-4 max-w-prose text-ink-2">{t.appDetail}</p>
      {totp === null ? (
        <Button icon={Smartphone} onClick={() => setOpen('add')}>
          {t.appAdd}
        </Button>
      ) : (
        <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
          <span className="rounded-full bg-good-soft px-2 py-0.75 text-xs font-medium text-good">{t.on}</span>
          <span className="text-ink-2">
            {t.since} <TimeAgo time={totp.createdAt} />
          </span>
          <Button size="sm" onClick={() => setOpen('remove')}>
            {t.appRemove}
          </Button>
        </div>
      )}
      <Dialog open={open === 'add'} onClose={close} title={t.appAddTitle}>
        <AddTotp onClose={close} onChanged={onChanged} />
      </Dialog>
      <Dialog open={open === 'remove'} onClose={close} title={t.appRemoveTitle} detail={t.appRemoveDetail}>
        <RemoveTotp onClose={close} onChanged={onChanged} />
      </Dialog>
    </Panel>
  )
}

interface StepProps {
  onClose: () => void
  onChanged: () => Promise<unknown>
}

function AddTotp({ onClose, onChanged }: StepProps) {
  const [begun, setBegun] = useState<CallResult<'beginTotp'> | null>(null)
  const [codes, setCodes] = useState<readonly string[] | null>(null)
  const done = () => {
    onClose()
    toastDone(t.appAdded)
  }
  if (codes !== null) return <RecoveryCodes codes={codes} onClose={done} />
  if (begun === null) {
    return (
      <PasswordStep
        submit={t.next}
        onClose={onClose}
        onPassword={async (password) => setBegun(await client.call('beginTotp', { body: { password } }))}
      />
    )
  }
  return (
    <ConfirmTotp
      begun={begun}
      onClose={onClose}
      onCodes={(made) => {
        // It holds already, however this dialog is closed.
        void onChanged()
        if (made.length === 0) done()
        else setCodes(made)
      }}
    />
  )
}

function ConfirmTotp({
  begun,
  onClose,
  onCodes,
}: {
  begun: CallResult<'beginTotp'>
  onClose: () => void
  onCodes: (codes: readonly string[]) => void
}) {
  const [code, setCode] = useState('')
  const { busy, error, run } = useSubmit()
  return (
    <Form
      onSubmit={() =>
        run(async () => onCodes((await client.call('confirmTotp', { body: { code: code.trim() } })).recoveryCodes))
      }
    >
      <p className="text-ink-2">{t.scan}</p>
      <div className="flex flex-col items-center gap-3 sm:flex-row sm:items-start">
        <QrCode text={begun.uri} label={t.qrLabel} />
        <div className="flex w-full min-w-0 flex-col gap-2">
          <p className="text-sm text-ink-2">{t.byHand}</p>
          <CodeBlock code={begun.secret} label={t.secret} wrap />
        </div>
      </div>
      <CodeField value={code} onChange={setCode} />
      {error !== null && <ErrorNote error={error} />}
      <DialogActions>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button type="submit" look="primary" busy={busy}>
          {t.turnOn}
        </Button>
      </DialogActions>
    </Form>
  )
}

/** For the six digits of now. Phones offer the code that came with a message or from the app. */
export function CodeField({ value, onChange }: { value: string; onChange: (code: string) => void }) {
  return (
    <TextField
      label={t.code}
      help={t.codeHelp}
      required
      autoFocus
      mono
      inputMode="numeric"
      autoComplete="one-time-code"
      maxLength={20}
      minLength={6}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    />
  )
}

function RemoveTotp({ onClose, onChanged }: StepProps) {
  const [code, setCode] = useState('')
  // Recovery codes have letters; what an app shows has none.
  const given = () => (/[a-z]/i.test(code) ? { recoveryCode: code.trim() } : { code: code.trim() })
  return (
    <PasswordStep
      submit={t.appRemove}
      danger
      onClose={onClose}
      fields={['/code', '/recoveryCode']}
      onPassword={async (password) => {
        await client.call('disableTotp', { body: { password, ...given() } })
        await onChanged()
        onClose()
        toastDone(t.appRemoved)
      }}
    >
      {(errorAt) => (
        <TextField
          label={t.codeOrRecovery}
          required
          autoFocus
          mono
          autoComplete="one-time-code"
          maxLength={60}
          minLength={6}
          value={code}
          onChange={(event) => setCode(event.target.value)}
          error={errorAt('/code') ?? errorAt('/recoveryCode')}
        />
      )}
    </PasswordStep>
  )
}
