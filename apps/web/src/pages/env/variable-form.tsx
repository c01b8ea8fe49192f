import type { ProjectView } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { setVariable, type VariableChange, variablePatch } from '../../api/changes.ts'
import { projectEnvQuery } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { DialogActions } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-state.tsx'
import { Switch, TextArea, TextField } from '../../components/field.tsx'
import { Form } from '../../components/form.tsx'
import { toastDone } from '../../components/toast.tsx'
import { isEnvName } from '../../lib/env-names.ts'
import { errorsAt } from '../../lib/field-errors.ts'
import { useSubmit } from '../../modules/use-submit.ts'
import { texts } from '../../texts/index.ts'
import { EnvPlan } from './env-plan.tsx'
import { Receivers, useReceivers } from './receivers.tsx'

const t = texts.env

export interface Editing {
  readonly name: string | null
  readonly value: string
  readonly secret: boolean
  /** Null for all. */
  readonly runtimes: readonly string[] | null
}

export function VariableForm({
  project,
  editing,
  onClose,
}: {
  project: ProjectView
  editing: Editing
  onClose: () => void
}) {
  const query = useQuery(projectEnvQuery(project.id))
  const receivers = useReceivers(project)
  const [name, setName] = useState(editing.name ?? '')
  const [value, setValue] = useState(editing.value)
  const [secret, setSecret] = useState(editing.secret)
  const [runtimes, setRuntimes] = useState(editing.runtimes)
  const [tried, setTried] = useState(false)
  const { busy, error, problem, run } = useSubmit()
  const errors = problem?.errors
  const choosing = receivers.length > 1 || editing.runtimes !== null
  const noReceiver = runtimes !== null && runtimes.length === 0
  // The text of a secret is not here: nothing typed leaves it as it is.
  const change: VariableChange = {
    ...(editing.secret && value === '' ? {} : { value }),
    secret,
    ...(choosing ? { runtimes } : {}),
  }

  const submit = async () => {
    setTried(true)
    if (!isEnvName(name) || noReceiver) return
    await run(async () => {
      await setVariable(project.id, name, change)
      await query.refetch()
      toastDone(t.set(name))
      onClose()
    })
  }
  return (
    <Form onSubmit={submit}>
      {editing.name === null && <NameField value={name} onChange={setName} tried={tried} />}
      <TextArea
        label={t.value}
        help={editing.secret ? t.newValueHelp : t.valueHelp}
        mono
        rows={Math.min(12, Math.max(3, value.split('\n').length))}
        autoFocus={editing.name !== null}
        autoCapitalize="none"
        value={value}
        onChange={(event) => setValue(event.target.value)}
        error={errorsAt(errors, '/value') ?? errorsAt(errors, `/env/${name}`)}
      />
      <Switch label={t.secret} help={t.secretHelp} checked={secret} onChange={setSecret} />
      {choosing && (
        <Receivers
          engine={project.engine}
          options={receivers}
          value={runtimes}
          onChange={setRuntimes}
          error={noReceiver && tried ? t.chooseReceiver : null}
        />
      )}
      <EnvPlan
        project={project.id}
        env={isEnvName(name) && !noReceiver ? (variablePatch(name, change).env ?? null) : null}
      />
      {error !== null && <ErrorNote error={error} hideErrors={['/value', `/env/${name}`]} />}
      <DialogActions>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button type="submit" look="primary" busy={busy}>
          {texts.common.save}
        </Button>
      </DialogActions>
    </Form>
  )
}

function NameField({ value, onChange, tried }: { value: string; onChange: (name: string) => void; tried: boolean }) {
  const wrong = (tried || value.length > 0) && !isEnvName(value) && (tried || !/^[A-Za-z_]\w*$/.test(value))
  return (
    <TextField
      label={t.name}
      mono
      autoFocus
      autoCapitalize="none"
      spellCheck={false}
      value={value}
      onChange={(event) => onChange(event.target.value.trim())}
      error={wrong ? t.nameInvalid : null}
    />
  )
}
