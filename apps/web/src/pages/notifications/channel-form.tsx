import type { NotificationChannel, NotificationKind } from '@stackquay/contract'
import { useState } from 'react'
import { client } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { DialogActions } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-state.tsx'
import { SelectField, TextField } from '../../components/field.tsx'
import { Form } from '../../components/form.tsx'
import { toastDone } from '../../components/toast.tsx'
import { errorsAt } from '../../lib/field-errors.ts'
import { changesOf } from '../../lib/settings-changes.ts'
import { fieldsOf, type JsonSchema } from '../../lib/settings-fields.ts'
import { SettingsForm, type SettingsValue } from '../../modules/settings-form.tsx'
import { useSubmit } from '../../modules/use-submit.ts'
import { texts } from '../../texts/index.ts'
import { bodyOf, isIncomplete, RuleFields, type Rules, rulesOf } from './rule-fields.tsx'

const t = texts.notifications

interface ChannelFormProps {
  /** The one to change; null for a new one. */
  channel: NotificationChannel | null
  kinds: readonly NotificationKind[]
  onClose: () => void
  onDone: () => void
}

export function ChannelForm({ channel, kinds, onClose, onDone }: ChannelFormProps) {
  const [name, setName] = useState(channel?.name ?? '')
  const [kind, setKind] = useState(channel?.kind ?? kinds[0]?.name ?? '')
  const schemaOf = (wanted: string) => (kinds.find((one) => one.name === wanted)?.settingsSchema ?? {}) as JsonSchema
  const [settings, setSettings] = useState<SettingsValue>(channel?.settings ?? defaultsOf(schemaOf(kind)))
  const [rules, setRules] = useState<Rules>(() => rulesOf(channel))
  const [tried, setTried] = useState(false)
  const { busy, error, problem, clear, run } = useSubmit()

  const submit = async () => {
    setTried(true)
    if (isIncomplete(rules)) return
    await run(async () => {
      if (channel === null) {
        const body = { name, kind, settings: { ...settings }, ...bodyOf(rules) }
        await client.call('createNotificationChannel', { body })
        toastDone(t.added(name))
      } else {
        const changed = changesOf(channel.settings, settings)
        const body = { name, ...bodyOf(rules), ...(changed === null ? {} : { settings: changed }) }
        await client.call('updateNotificationChannel', { params: { channel: channel.id }, body })
      }
      onDone()
    })
  }
  const choose = (next: string) => {
    clear()
    setKind(next)
    setSettings(defaultsOf(schemaOf(next)))
  }
  return (
    <Form onSubmit={submit}>
      <div className="grid items-start gap-x-6 gap-y-4 sm:grid-cols-2">
        <TextField
          label={t.name}
          required
          autoFocus
          maxLength={60}
          value={name}
          onChange={(event) => setName(event.target.value)}
          error={errorsAt(problem?.errors, '/name')}
        />
        {channel === null && (
          <SelectField label={t.kind} value={kind} onChange={(event) => choose(event.target.value)}>
            {kinds.map((one) => (
              <option key={one.name} value={one.name}>
                {one.label}
              </option>
            ))}
          </SelectField>
        )}
      </div>
      <SettingsForm
        fields={fieldsOf(schemaOf(kind))}
        value={settings}
        onChange={setSettings}
        pointer="/settings"
        within="channel."
        nullText={t.nullValue}
        errors={problem?.errors}
      />
      <RuleFields rules={rules} onChange={setRules} tried={tried} errors={problem?.errors} />
      {problem !== null && <ErrorNote error={error} hideErrors={shownPointers} />}
      <DialogActions>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button type="submit" look="primary" busy={busy}>
          {channel === null ? t.submit : t.save}
        </Button>
      </DialogActions>
    </Form>
  )
}

const shownPointers = ['/name', '/settings', '/cooldownMinutes', '/quietHours']

function defaultsOf({ properties = {} }: JsonSchema): SettingsValue {
  const given = Object.entries(properties).filter(([, { default: value }]) => value !== undefined && value !== null)
  return Object.fromEntries(given.map(([key, property]) => [key, property.default]))
}
