import type { ProjectView } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { createDatabase, type DatabaseCreate, planDatabase } from '../../api/changes.ts'
import { problemFrom } from '../../api/client.ts'
import { servicesQuery } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { DialogActions } from '../../components/dialog.tsx'
import { ErrorNote, ErrorState } from '../../components/error-state.tsx'
import { Check, SelectField, TextField } from '../../components/field.tsx'
import { Form } from '../../components/form.tsx'
import { SkeletonList } from '../../components/skeleton.tsx'
import { toastDone } from '../../components/toast.tsx'
import { errorsAt } from '../../lib/field-errors.ts'
import { freeName } from '../../lib/names.ts'
import { PlanView } from '../../modules/plan-view.tsx'
import { engineReason } from '../../modules/project-actions.ts'
import type { ServiceType } from '../../modules/service-type.ts'
import { Unavailable } from '../../modules/unavailable.tsx'
import { usePlan } from '../../modules/use-plan.ts'
import { useSubmit } from '../../modules/use-submit.ts'
import { VersionSelect } from '../../modules/version-select.tsx'
import { texts } from '../../texts/index.ts'

const t = texts.databases

export function AddDatabase({ project, onClose }: { project: ProjectView; onClose: () => void }) {
  const query = useQuery(servicesQuery(project.engine))
  if (query.isPending) return <SkeletonList rows={3} height="h-8" />
  if (query.isError) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
  return (
    <AddFields
      project={project}
      types={query.data.items.filter((item) => item.kind === 'database')}
      onClose={onClose}
    />
  )
}

function AddFields({
  project,
  types,
  onClose,
}: {
  project: ProjectView
  types: readonly ServiceType[]
  onClose: () => void
}) {
  const [name, setName] = useState(() => freeName('main', Object.keys(project.databases)))
  const [type, setType] = useState(() => (types.find(({ available }) => available) ?? types[0])?.name ?? '')
  const [version, setVersion] = useState('')
  const [exposePort, setExposePort] = useState(false)
  const { busy, error, run } = useSubmit()
  const chosen = types.find((item) => item.name === type)
  const body: DatabaseCreate = {
    name,
    type,
    ...(version === '' ? {} : { version }),
    ...(exposePort ? { exposePort } : {}),
  }
  const complete = name !== '' && chosen?.available === true
  const live = usePlan(['database', project.id], complete ? body : null, (input, signal) =>
    planDatabase(project.id, input, signal),
  )
  const problem = error !== null ? problemFrom(error) : live.error ? problemFrom(live.error) : null
  const pointers = ['/name', '/type', '/version', '/exposePort']

  const submit = async () => {
    await run(async () => {
      await createDatabase(project.id, body)
      toastDone(t.added(name))
      onClose()
    })
  }
  return (
    <Form onSubmit={submit}>
      <div className="grid grid-cols-1 gap-4 sm:grid-cols-3">
        <TextField
          label={t.name}
          help={t.nameHelp}
          mono
          autoFocus
          autoCapitalize="none"
          spellCheck={false}
          value={name}
          onChange={(event) => setName(event.target.value)}
          error={errorsAt(problem?.errors, '/name')}
        />
        <TypeSelect
          types={types}
          value={type}
          onChange={(next) => {
            setType(next)
            setVersion('')
          }}
          error={errorsAt(problem?.errors, '/type')}
        />
        {chosen?.available && (
          <VersionSelect
            label={t.version}
            versions={chosen.versions}
            value={version}
            onChange={setVersion}
            error={errorsAt(problem?.errors, '/version')}
          />
        )}
      </div>
      {chosen && !chosen.available && (
        <Unavailable label={chosen.label} reason={chosen.reason} install={chosen.install} />
      )}
      <Check label={t.exposePort} help={t.exposePortHelp} checked={exposePort} onChange={setExposePort} />
      <div className="rounded-lg border border-line bg-sunken p-3">
        <PlanView live={live} idle={texts.create.planIdle} hideErrors={pointers} />
      </div>
      {error !== null && <ErrorNote error={error} hideErrors={pointers} />}
      <DialogActions>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button type="submit" look="primary" busy={busy} disabled={!complete} reason={engineReason(project)}>
          {t.submit}
        </Button>
      </DialogActions>
    </Form>
  )
}

interface TypeSelectProps {
  types: readonly ServiceType[]
  value: string
  onChange: (type: string) => void
  error: string | null
}

function TypeSelect({ types, value, onChange, error }: TypeSelectProps) {
  return (
    <SelectField label={t.type} value={value} onChange={(event) => onChange(event.target.value)} error={error}>
      {types.map((item) => (
        <option key={item.name} value={item.name}>
          {item.label}
          {item.available ? '' : ` (${texts.create.unavailable})`}
        </option>
      ))}
    </SelectField>
  )
}
