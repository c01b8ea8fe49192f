import type { CallResult, ProjectView } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { Database, Eye, EyeOff, Plus, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { createDatabase, type DatabaseCreate, dropDatabase, planDatabase } from '../api/changes.ts'
import { client, problemFrom } from '../api/client.ts'
import { servicesQuery } from '../api/queries.ts'
import { Button } from '../components/button.tsx'
import { ConfirmDialog } from '../components/confirm-dialog.tsx'
import { CopyButton } from '../components/copy-button.tsx'
import { Dialog, DialogActions } from '../components/dialog.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { ErrorNote, ErrorState } from '../components/error-state.tsx'
import { Check, SelectField, TextField } from '../components/field.tsx'
import { Panel } from '../components/panel.tsx'
import { SkeletonList } from '../components/skeleton.tsx'
import { toastDone } from '../components/toast.tsx'
import { errorsAt } from '../lib/field-errors.ts'
import { freeName } from '../lib/names.ts'
import { Monogram } from '../modules/monogram.tsx'
import { PlanView } from '../modules/plan-view.tsx'
import { WorkloadStatePill } from '../modules/state-pill.tsx'
import { Unavailable } from '../modules/unavailable.tsx'
import { useLabels } from '../modules/use-labels.ts'
import { useMay } from '../modules/use-may.ts'
import { usePlan } from '../modules/use-plan.ts'
import { versionChoices } from '../modules/version-choices.ts'
import { texts } from '../texts/index.ts'
import { useProject } from './use-project.ts'
import { useTitle } from './use-title.ts'

const t = texts.databases
type Credentials = CallResult<'getDatabaseCredentials'>

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
          <Button icon={Plus} look="primary" onClick={() => setAdding(true)}>
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

function DatabaseCard({
  project,
  name,
  database,
}: {
  project: ProjectView
  name: string
  database: ProjectView['databases'][string]
}) {
  const labels = useLabels()
  const may = useMay()
  const [dropping, setDropping] = useState(false)
  const workload = project.status.workloads.find(
    (item) => item.kind === 'database' && item.name === `${database.type}-${name}`,
  )
  return (
    <Panel>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <Monogram label={labels[database.type] ?? database.type} />
        <div className="min-w-0 flex-1">
          <h3 className="truncate font-mono text-base font-medium">{name}</h3>
          <p className="text-sm text-ink-3">
            {labels[database.type] ?? database.type} {database.version}
            {database.hostPort !== null && <span className="numbers"> · {t.port(database.hostPort)}</span>} ·{' '}
            {database.exposePort ? t.published : t.loopback}
          </p>
        </div>
        {workload && <WorkloadStatePill state={workload.state} />}
        {may('admin') && (
          <Button size="sm" icon={Trash2} aria-label={t.dropOne(name)} onClick={() => setDropping(true)}>
            {t.drop}
          </Button>
        )}
      </div>
      {may('operate') && <CredentialsView project={project.id} name={name} />}
      <ConfirmDialog
        open={dropping}
        onClose={() => setDropping(false)}
        title={t.dropTitle(name)}
        detail={t.dropDetail}
        word={name}
        submit={t.dropSubmit}
        onConfirm={async (typed) => {
          await dropDatabase(project.id, name, typed)
          toastDone(t.dropped(name))
        }}
      />
    </Panel>
  )
}

const credentialFields = ['url', 'host', 'hostPort', 'port', 'database', 'username', 'password'] as const

/** Read only when asked for, kept nowhere but in this part of the page, and gone with it. */
function CredentialsView({ project, name }: { project: string; name: string }) {
  const [credentials, setCredentials] = useState<Credentials | null>(null)
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const reveal = async () => {
    setBusy(true)
    setError(null)
    try {
      setCredentials(await client.call('getDatabaseCredentials', { params: { id: project, db: name } }))
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
    }
  }
  return (
    <div className="mt-4 border-t border-line pt-3">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <Button
          size="sm"
          icon={credentials === null ? Eye : EyeOff}
          busy={busy}
          aria-expanded={credentials !== null}
          onClick={() => (credentials === null ? void reveal() : setCredentials(null))}
        >
          {credentials === null ? t.reveal : t.hide}
        </Button>
        <span className="text-sm text-ink-3">{t.audited}</span>
      </div>
      {error !== null && (
        <div className="mt-3">
          <ErrorNote error={error} />
        </div>
      )}
      {credentials !== null && (
        <dl className="mt-3 grid grid-cols-[auto_minmax(0,1fr)] items-center gap-x-6 gap-y-0.5">
          {credentialFields.map((field) => (
            <div key={field} className="contents">
              <dt className="text-ink-3">{t.fields[field]}</dt>
              <dd className="flex min-w-0 items-center gap-1">
                <code className="min-w-0 break-all">{String(credentials[field])}</code>
                <CopyButton text={String(credentials[field])} label={`${texts.common.copy}: ${t.fields[field]}`} />
              </dd>
            </div>
          ))}
        </dl>
      )}
    </div>
  )
}

function AddForm({ project, onClose }: { project: ProjectView; onClose: () => void }) {
  const query = useQuery(servicesQuery)
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
          <SelectField
            label={t.version}
            value={version}
            onChange={(event) => setVersion(event.target.value)}
            error={errorsAt(problem?.errors, '/version')}
          >
            {versionChoices(kind.versions).map((choice) => (
              <option key={choice.value} value={choice.isDefault ? '' : choice.value} disabled={choice.disabled}>
                {choice.label}
              </option>
            ))}
          </SelectField>
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
        <Button type="submit" look="primary" busy={busy} disabled={!kind?.available || name === ''}>
          {t.submit}
        </Button>
      </DialogActions>
    </form>
  )
}
