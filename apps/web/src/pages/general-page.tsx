import type { InstanceSettings } from '@stackquay/contract'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useBlocker } from '@tanstack/react-router'
import { useState } from 'react'
import { client } from '../api/client.ts'
import { instanceSettingsQuery } from '../api/queries.ts'
import { Button } from '../components/button.tsx'
import { ErrorNote } from '../components/error-state.tsx'
import { TextField } from '../components/field.tsx'
import { Loaded } from '../components/loaded.tsx'
import { PageHeader, Panel } from '../components/panel.tsx'
import { toastDone } from '../components/toast.tsx'
import { UnsavedBar } from '../components/unsaved-bar.tsx'
import { errorsAt } from '../lib/field-errors.ts'
import { type SettingEdits, type SettingGroup, settingChanges, settingGroups } from '../lib/instance-settings.ts'
import { useSubmit } from '../modules/use-submit.ts'
import { texts } from '../texts/index.ts'
import { Registries } from './general/registries.tsx'
import { SettingField } from './general/setting-field.tsx'
import { useTitle } from './use-title.ts'

const t = texts.instanceSettings
const groups = Object.keys(settingGroups) as SettingGroup[]

/** The settings of the instance, where each comes from, and what waits for a restart. */
export function GeneralPage() {
  useTitle(t.title)
  const query = useQuery(instanceSettingsQuery)
  return (
    <div className="flex w-full max-w-4xl flex-1 flex-col gap-4 px-4 py-5 sm:px-6">
      <PageHeader title={t.title} detail={t.detail} />
      <Loaded query={query} rows={8}>
        {(settings) => (
          <>
            <Settings items={settings.items} />
            <Registries registries={settings.registries} />
          </>
        )}
      </Loaded>
    </div>
  )
}

function Settings({ items }: Pick<InstanceSettings, 'items'>) {
  const [edits, setEdits] = useState<SettingEdits>({})
  const [password, setPassword] = useState('')
  const queries = useQueryClient()
  const { busy, error, problem, run, clear } = useSubmit()
  const changes = settingChanges(items, edits)
  const changed = items.filter(({ key }) => key in changes)
  const asking = changed.filter(({ passwordAgain }) => passwordAgain)
  const pending = items.filter((item) => item.pending)
  const isChanged = changed.length > 0
  useBlocker({
    shouldBlockFn: () => !window.confirm(t.leave),
    enableBeforeUnload: () => isChanged,
    disabled: !isChanged,
  })

  const reset = () => {
    setEdits({})
    setPassword('')
    clear()
  }
  const save = () =>
    run(async () => {
      const body = { settings: changes, ...(asking.length > 0 && { password }) }
      const saved = await client.call('updateSettings', { body })
      queries.setQueryData(instanceSettingsQuery.queryKey, saved)
      reset()
      toastDone(t.saved)
      // Addresses of projects may be others now.
      await queries.invalidateQueries()
    })

  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault()
        void save()
      }}
    >
      {pending.length > 0 && (
        <p role="status" className="rounded-md bg-warn-soft px-3 py-2">
          {t.pendingNote(listed(pending))}
        </p>
      )}
      {groups.map((group) => (
        <Panel key={group} title={t.groups[group]}>
          <div className="grid grid-cols-1 gap-x-6 gap-y-5 sm:grid-cols-2">
            {settingGroups[group].map((key) => {
              const item = items.find((one) => one.key === key)
              return (
                item && (
                  <SettingField
                    key={key}
                    item={item}
                    edits={edits}
                    onEdit={(text) => setEdits({ ...edits, [key]: text })}
                    error={errorsAt(problem?.errors, `/settings/${key}`)}
                  />
                )
              )
            })}
          </div>
        </Panel>
      ))}
      {isChanged && (
        <Unsaved
          changed={changed}
          password={password}
          onPassword={setPassword}
          busy={busy}
          error={error}
          passwordError={errorsAt(problem?.errors, '/password')}
          shown={[...items.map(({ key }) => `/settings/${key}`), '/password']}
          onDiscard={reset}
        />
      )}
    </form>
  )
}

function listed(items: readonly InstanceSettings['items'][number][]): string {
  return items.map(({ key }) => t.labels[key]).join(', ')
}

interface UnsavedProps {
  readonly changed: InstanceSettings['items']
  readonly password: string
  readonly onPassword: (password: string) => void
  readonly busy: boolean
  readonly error: unknown
  readonly passwordError: string | null
  /** Pointers of errors that stand at their fields. */
  readonly shown: readonly string[]
  readonly onDiscard: () => void
}

/** What is to be saved, with the password where it must be given. */
function Unsaved({ changed, password, onPassword, busy, error, passwordError, shown, onDiscard }: UnsavedProps) {
  const asking = changed.filter(({ passwordAgain }) => passwordAgain)
  return (
    <UnsavedBar label={t.unsaved}>
      <div className="flex flex-col gap-3">
        <p className="font-medium">{t.changed(listed(changed))}</p>
        {asking.length > 0 && (
          <TextField
            label={t.password}
            help={t.passwordHelp(listed(asking))}
            type="password"
            autoComplete="current-password"
            required
            value={password}
            onChange={(event) => onPassword(event.target.value)}
            error={passwordError}
          />
        )}
        {error !== null && <ErrorNote error={error} hideErrors={shown} />}
        <div className="flex flex-wrap justify-end gap-2">
          <Button onClick={onDiscard}>{t.discard}</Button>
          <Button type="submit" look="primary" busy={busy}>
            {t.save}
          </Button>
        </div>
      </div>
    </UnsavedBar>
  )
}
