import { useState } from 'react'
import type { TargetBody } from '../../api/backup-targets.ts'
import { client } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { DialogActions } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-state.tsx'
import { SelectField, TextField } from '../../components/field.tsx'
import { Form } from '../../components/form.tsx'
import { errorsAt } from '../../lib/field-errors.ts'
import { bodyOfTarget, fieldsOfTarget, type TargetFields, type TargetKind } from '../../lib/target-fields.ts'
import { useSubmit } from '../../modules/use-submit.ts'
import { texts } from '../../texts/index.ts'
import { KindFields } from './target-kind-fields.tsx'

const t = texts.backupTargets

interface TargetFormProps {
  onClose: () => void
  /** With the generated passphrase, if there is one. */
  onDone: (passphrase: string | null) => void
}

export function TargetForm({ onClose, onDone }: TargetFormProps) {
  const [kind, setKind] = useState<TargetKind>('folder')
  const [fields, setFields] = useState<TargetFields>(fieldsOfTarget)
  const { busy, error, problem, clear, run } = useSubmit()
  const set = (change: Partial<TargetFields>) => {
    // Another machine has another key.
    const hostKey = 'host' in change || 'port' in change ? { hostKey: null } : {}
    setFields((before) => ({ ...before, ...hostKey, ...change }))
  }
  const shown = typeof problem?.hostKey === 'string' ? problem.hostKey : null
  const send = (body: TargetBody) =>
    run(async () => onDone((await client.call('createBackupTarget', { body })).recoveryPassphrase))
  return (
    <Form onSubmit={() => send(bodyOfTarget(kind, fields))}>
      <div className="grid items-start gap-x-6 gap-y-4 sm:grid-cols-2">
        <TextField
          label={t.name}
          required
          autoFocus
          maxLength={60}
          value={fields.name}
          onChange={(event) => set({ name: event.target.value })}
          error={errorsAt(problem?.errors, '/name')}
        />
        <SelectField
          label={t.kind}
          value={kind}
          onChange={(event) => {
            setKind(event.target.value as TargetKind)
            clear()
          }}
        >
          {Object.entries(t.kinds).map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </SelectField>
        <KindFields kind={kind} fields={fields} set={set} errors={problem?.errors} />
        <TextField
          label={t.ownPassphrase}
          help={t.ownPassphraseHelp}
          optional
          type="password"
          autoComplete="new-password"
          className="sm:col-span-2"
          value={fields.passphrase}
          onChange={(event) => set({ passphrase: event.target.value })}
          error={errorsAt(problem?.errors, '/passphrase')}
        />
      </div>
      {shown !== null ? (
        <HostKey
          shown={shown}
          onAccept={() => {
            set({ hostKey: shown })
            void send(bodyOfTarget(kind, { ...fields, hostKey: shown }))
          }}
        />
      ) : (
        problem !== null && <ErrorNote error={error} hideErrors={shownPointers} />
      )}
      <DialogActions>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button type="submit" look="primary" busy={busy}>
          {t.addSubmit}
        </Button>
      </DialogActions>
    </Form>
  )
}

const shownPointers = ['/name', '/passphrase', '/folder', '/s3', '/sftp']

/** Nothing is told to a machine before a person has said that it is the right one. */
function HostKey({ shown, onAccept }: { shown: string; onAccept: () => void }) {
  return (
    <div role="alert" className="rounded-lg bg-warn-soft p-3">
      <p className="font-medium">{t.hostKeyShown}</p>
      <code className="block break-all">{shown}</code>
      <p className="mb-2 text-sm">{t.hostKeyCompare}</p>
      <Button onClick={onAccept}>{t.hostKeyAccept}</Button>
    </div>
  )
}
