import type { CallResult, ProjectView } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { Database, Ellipsis, KeyRound, Plus, RefreshCw, Settings2, Trash2 } from 'lucide-react'
import { useState } from 'react'
import {
  createDatabase,
  type DatabaseCreate,
  dropDatabase,
  planDatabase,
  planDatabaseRotation,
  planDatabaseUpdate,
  planDrop,
  rotateDatabase,
  updateDatabase,
} from '../api/changes.ts'
import { client, problemFrom } from '../api/client.ts'
import { servicesQuery } from '../api/queries.ts'
import { Button, IconButton } from '../components/button.tsx'
import { Dialog, DialogActions } from '../components/dialog.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { ErrorNote, ErrorState } from '../components/error-state.tsx'
import { Check, SelectField, TextField } from '../components/field.tsx'
import { Menu, MenuItem, MenuSeparator } from '../components/menu.tsx'
import { Panel } from '../components/panel.tsx'
import { SkeletonList } from '../components/skeleton.tsx'
import { toastDone } from '../components/toast.tsx'
import { errorsAt } from '../lib/field-errors.ts'
import { freeName } from '../lib/names.ts'
import { changesOf } from '../lib/settings-draft.ts'
import { fieldsOf } from '../lib/settings-fields.ts'
import { CredentialsDialog } from '../modules/credentials.tsx'
import { Monogram } from '../modules/monogram.tsx'
import { PlanView } from '../modules/plan-view.tsx'
import { PlannedConfirm } from '../modules/planned-confirm.tsx'
import { engineReason } from '../modules/project-actions.ts'
import { SettingsForm, type SettingsValue } from '../modules/settings-form.tsx'
import { WorkloadStatePill } from '../modules/state-pill.tsx'
import { Unavailable } from '../modules/unavailable.tsx'
import { useLabels } from '../modules/use-labels.ts'
import { useMay } from '../modules/use-may.ts'
import { usePlan } from '../modules/use-plan.ts'
import { versionChoices } from '../modules/version-choices.ts'
import { VersionSelect } from '../modules/version-select.tsx'
import { texts } from '../texts/index.ts'
import { useProject } from './use-project.ts'
import { useTitle } from './use-title.ts'

const t = texts.databases

export function DatabasesPage() {
  const project = useProject()
  useTitle(project.name, texts.project.tabs.databases)
  const [adding, setAdding] = useState(false)
  const may = useMay()
  const databases = Object.entries(project.databases)
  return (
    <div className="flex w-full max-w-6xl flex-col gap-4 px-4 py-5 sm:px-6">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <h2 className="text-base font-semibold">{t.title}</h2>
        {may('operate') && (
          <Button icon={Plus} look="primary" reason={engineReason(project)} onClick={() => setAdding(true)}>
            {t.add}
          </Button>
        )}
      </div>
      {databases.length === 0 ? (
        <div className="rounded-lg border border-dashed border-line-strong/60">
          <EmptyState icon={Database} title={t.emptyTitle} detail={t.emptyDetail} />
        </div>
      ) : (
        databases.map(([name, database]) => (
          <DatabaseCard key={name} project={project} name={name} database={database} />
        ))
      )}
      <Dialog open={adding} onClose={() => setAdding(false)} title={t.addTitle} wide>
        <AddForm project={project} onClose={() => setAdding(false)} />
      </Dialog>
    </div>
  )
}

type DatabaseView = ProjectView['databases'][string]
type Open = 'credentials' | 'change' | 'rotate' | 'drop' | null

function DatabaseCard({ project, name, database }: { project: ProjectView; name: string; database: DatabaseView }) {
  const labels = useLabels(project.engine)
  const may = useMay()
  const reason = engineReason(project)
  const kind = useQuery(servicesQuery(project.engine)).data?.items.find(
    (item) => item.kind === 'database' && item.name === database.type,
  )
  const [open, setOpen] = useState<Open>(null)
  const close = () => setOpen(null)
  const workload = project.status.workloads.find(
    (item) => item.kind === 'database' && item.name === `${database.type}-${name}`,
  )
  return (
    <Panel>
      <section aria-labelledby={`database-${name}`} className="flex flex-col gap-3">
        <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
          <Monogram label={labels[database.type] ?? database.type} />
          <div className="min-w-0 flex-1 basis-40">
            <h3 id={`database-${name}`} className="truncate font-mono text-base font-medium">
              {name}
            </h3>
            <p className="numbers text-sm text-ink-3">
              {labels[database.type] ?? database.type} {database.version}
              {database.hostPort !== null && ` · ${t.port(database.hostPort)}`} ·{' '}
              {database.exposePort ? t.published : t.loopback}
            </p>
          </div>
          {workload && <WorkloadStatePill state={workload.state} />}
          {may('operate') && (
            <div className="flex flex-wrap items-center gap-1.5 max-sm:w-full">
              <Button size="sm" icon={KeyRound} onClick={() => setOpen('credentials')}>
                {t.reveal}
              </Button>
              <Button
                size="sm"
                icon={Settings2}
                aria-label={t.changeOne(name)}
                disabled={kind === undefined}
                reason={reason}
                onClick={() => setOpen('change')}
              >
                {t.change}
              </Button>
              {may('admin') && (
                <Menu trigger={<IconButton icon={Ellipsis} size="sm" look="secondary" label={t.actionsOf(name)} />}>
                  <MenuItem icon={RefreshCw} disabled={reason !== null} onSelect={() => setOpen('rotate')}>
                    {t.rotate}
                  </MenuItem>
                  <MenuSeparator />
                  <MenuItem icon={Trash2} danger disabled={reason !== null} onSelect={() => setOpen('drop')}>
                    {t.drop}
                  </MenuItem>
                </Menu>
              )}
            </div>
          )}
        </div>
        {workload?.reason != null && <p className="text-sm break-words text-warn">{workload.reason}</p>}
      </section>
      <CredentialsDialog
        open={open === 'credentials'}
        onClose={close}
        title={t.credentialsOf(name)}
        read={(signal) => client.call('getDatabaseCredentials', { params: { id: project.id, db: name } }, { signal })}
      />
      <Dialog open={open === 'change'} onClose={close} title={t.changeTitle(name)} wide>
        {kind && <ChangeForm project={project} name={name} database={database} kind={kind} onClose={close} />}
      </Dialog>
      <PlannedConfirm
        open={open === 'rotate'}
        onClose={close}
        title={t.rotateTitle(name)}
        detail={t.rotateDetail}
        submit={t.rotateSubmit}
        look="primary"
        name={['rotate-database', project.id, name]}
        ask={(signal) => planDatabaseRotation(project.id, name, signal)}
        onConfirm={async () => {
          await rotateDatabase(project.id, name)
          toastDone(t.rotated(name))
        }}
      />
      <PlannedConfirm
        open={open === 'drop'}
        onClose={close}
        title={t.dropTitle(name)}
        detail={t.dropDetail}
        word={name}
        submit={t.dropSubmit}
        name={['drop', project.id, name]}
        ask={(signal) => planDrop(project.id, name, signal)}
        onConfirm={async (typed) => {
          await dropDatabase(project.id, name, typed)
          toastDone(t.dropped(name))
        }}
      />
    </Panel>
  )
}

function ChangeForm({
  project,
  name,
  database,
  kind,
  onClose,
}: {
  project: ProjectView
  name: string
  database: DatabaseView
  kind: DatabaseKinds[number]
  onClose: () => void
}) {
  const [stored] = useState<SettingsValue>(() => ({ ...database }))
  const [draft, setDraft] = useState(stored)
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const changes = changesOf(stored, draft)
  const live = usePlan(['database', project.id, name], changes, (input, signal) =>
    planDatabaseUpdate(project.id, name, input, signal),
  )
  const problem = error !== null ? problemFrom(error) : live.error ? problemFrom(live.error) : null
  const fields = fieldsOf(kind.settingsSchema)
  const pointers = fields.map((field) => `/${field.key}`)

  const submit = async () => {
    if (changes === null) return
    setBusy(true)
    setError(null)
    try {
      const answer = await updateDatabase(project.id, name, changes)
      toastDone(answer.operation === null ? t.saved : t.changed(name))
      onClose()
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
    }
  }
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault()
        void submit()
      }}
    >
      <SettingsForm
        fields={fields}
        value={draft}
        onChange={(next) => {
          setError(null)
          setDraft(next)
        }}
        pointer=""
        errors={problem?.errors}
        choices={{ version: versionChoices(kind.versions) }}
      />
      <div className="rounded-lg border border-line bg-sunken p-3">
        <PlanView live={live} idle={t.changeIdle} hideErrors={pointers} />
      </div>
      {error !== null && <ErrorNote error={error} hideErrors={pointers} />}
      <DialogActions>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button
          type="submit"
          look="primary"
          busy={busy}
          disabled={live.pending || live.plan === null}
          reason={engineReason(project)}
        >
          {texts.common.apply}
        </Button>
      </DialogActions>
    </form>
  )
}

function AddForm({ project, onClose }: { project: ProjectView; onClose: () => void }) {
  const query = useQuery(servicesQuery(project.engine))
  if (query.isPending) return <SkeletonList rows={3} height="h-8" />
  if (query.isError) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
  return (
    <AddFields
      project={project}
      kinds={query.data.items.filter((item) => item.kind === 'database')}
      onClose={onClose}
    />
  )
}

type DatabaseKinds = CallResult<'listServices'>['items']

function AddFields({ project, kinds, onClose }: { project: ProjectView; kinds: DatabaseKinds; onClose: () => void }) {
  const [name, setName] = useState(() => freeName('main', Object.keys(project.databases)))
  const [type, setType] = useState(() => (kinds.find((kind) => kind.available) ?? kinds[0])?.name ?? '')
  const [version, setVersion] = useState('')
  const [exposePort, setExposePort] = useState(false)
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const kind = kinds.find((item) => item.name === type)
  const body: DatabaseCreate = {
    name,
    type,
    ...(version === '' ? {} : { version }),
    ...(exposePort ? { exposePort } : {}),
  }
  const live = usePlan(['database', project.id], name === '' || !kind?.available ? null : body, (input, signal) =>
    planDatabase(project.id, input, signal),
  )
  const problem = error !== null ? problemFrom(error) : live.error ? problemFrom(live.error) : null
  const pointers = ['/name', '/type', '/version', '/exposePort']

  const submit = async () => {
    setBusy(true)
    setError(null)
    try {
      await createDatabase(project.id, body)
      toastDone(t.added(name))
      onClose()
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
    }
  }
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault()
        void submit()
      }}
    >
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
        <SelectField
          label={t.type}
          value={type}
          onChange={(event) => {
            setType(event.target.value)
            setVersion('')
          }}
          error={errorsAt(problem?.errors, '/type')}
        >
          {kinds.map((item) => (
            <option key={item.name} value={item.name}>
              {item.label}
              {item.available ? '' : ` (${texts.create.unavailable})`}
            </option>
          ))}
        </SelectField>
        {kind?.available && (
          <VersionSelect
            label={t.version}
            versions={kind.versions}
            value={version}
            onChange={setVersion}
            error={errorsAt(problem?.errors, '/version')}
          />
        )}
      </div>
      {kind && !kind.available && <Unavailable label={kind.label} reason={kind.reason} install={kind.install} />}
      <Check label={t.exposePort} help={t.exposePortHelp} checked={exposePort} onChange={setExposePort} />
      <div className="rounded-lg border border-line bg-sunken p-3">
        <PlanView live={live} idle={texts.create.planIdle} hideErrors={pointers} />
      </div>
      {error !== null && <ErrorNote error={error} hideErrors={pointers} />}
      <DialogActions>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button
          type="submit"
          look="primary"
          busy={busy}
          disabled={!kind?.available || name === ''}
          reason={engineReason(project)}
        >
          {t.submit}
        </Button>
      </DialogActions>
    </form>
  )
}
