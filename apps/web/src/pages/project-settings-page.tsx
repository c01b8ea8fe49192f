import { apiPrefix } from '@stackquay/client'
import type { ProjectView } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { useLocation, useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import {
  applyManifest,
  deleteProject,
  duplicateProject,
  planDelete,
  planManifest,
  planUpdate,
  updateProject,
} from '../api/changes.ts'
import { problemFrom } from '../api/client.ts'
import { manifestQuery } from '../api/queries.ts'
import { Button } from '../components/button.tsx'
import { ConfirmDialog } from '../components/confirm-dialog.tsx'
import { CopyButton } from '../components/copy-button.tsx'
import { ErrorNote } from '../components/error-state.tsx'
import { ExternalLink } from '../components/external-link.tsx'
import { Check, Switch, TextArea, TextField } from '../components/field.tsx'
import { Loaded } from '../components/loaded.tsx'
import { Panel } from '../components/panel.tsx'
import { toastDone } from '../components/toast.tsx'
import { errorsAt } from '../lib/field-errors.ts'
import { ImagesPanel } from '../modules/images-panel.tsx'
import { LimitsPanel } from '../modules/limits-panel.tsx'
import { PlanView } from '../modules/plan-view.tsx'
import { engineReason } from '../modules/project-actions.ts'
import { useMay } from '../modules/use-may.ts'
import { usePlan } from '../modules/use-plan.ts'
import { texts } from '../texts/index.ts'
import { useProject } from './use-project.ts'
import { useTitle } from './use-title.ts'

const t = texts.settings

export function ProjectSettingsPage() {
  const project = useProject()
  useTitle(project.name, texts.project.tabs.settings)
  const { hash } = useLocation()
  const may = useMay()
  useEffect(() => {
    if (hash !== '') document.getElementById(hash)?.scrollIntoView({ block: 'start' })
  }, [hash])
  return (
    <div className="flex w-full max-w-4xl flex-col gap-4 px-4 py-5 sm:px-6">
      <General key={`${project.id}${project.generation}`} project={project} />
      <LimitsPanel project={project} />
      <ImagesPanel project={project} />
      <ProjectFile project={project} />
      {may('admin') && (
        <>
          <Duplicate project={project} />
          <Delete project={project} />
        </>
      )}
    </div>
  )
}

function General({ project }: { project: ProjectView }) {
  const mayChange = useMay()('operate')
  const reason = engineReason(project)
  const [name, setName] = useState(project.name)
  const [checked, setChecked] = useState(project.healthCheck !== null)
  const [path, setPath] = useState(project.healthCheck?.path ?? '/')
  const [timeout, setTimeoutSeconds] = useState(String(project.healthCheck?.timeoutSeconds ?? 60))
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const healthCheck = checked ? { path, timeoutSeconds: Number(timeout) } : null
  const patch = {
    ...(name.trim() !== project.name ? { name: name.trim() } : {}),
    ...(JSON.stringify(healthCheck) !== JSON.stringify(project.healthCheck) ? { healthCheck } : {}),
  }
  const changed = Object.keys(patch).length > 0
  const live = usePlan(['update', project.id], changed ? patch : null, (input, signal) =>
    planUpdate(project.id, input, signal),
  )
  const problem = error !== null ? problemFrom(error) : live.error ? problemFrom(live.error) : null
  const pointers = ['/name', '/healthCheck']

  const save = async () => {
    setBusy(true)
    setError(null)
    try {
      await updateProject(project.id, patch)
      toastDone(t.saved)
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
    }
  }
  return (
    <Panel title={t.general}>
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault()
          void save()
        }}
      >
        <fieldset disabled={!mayChange || reason !== null} className="flex min-w-0 flex-col gap-4">
          <legend className="sr-only">{t.general}</legend>
          <div className="grid grid-cols-1 gap-4 sm:grid-cols-2">
            <TextField
              label={t.name}
              help={t.nameHelp}
              maxLength={60}
              value={name}
              onChange={(event) => setName(event.target.value)}
              error={errorsAt(problem?.errors, '/name')}
            />
            <TextField label={t.slug} value={project.slug} readOnly mono />
          </div>
          <fieldset className="flex flex-col gap-3 rounded-lg border border-line p-4">
            <legend className="-ml-1 px-1 text-sm font-medium">{t.healthCheck}</legend>
            <Switch label={t.healthCheckOn} help={t.healthCheckHelp} checked={checked} onChange={setChecked} />
            {checked && (
              <div className="grid grid-cols-1 gap-4 sm:grid-cols-2">
                <TextField
                  label={t.path}
                  mono
                  required
                  value={path}
                  onChange={(event) => setPath(event.target.value)}
                  error={errorsAt(problem?.errors, '/healthCheck/path')}
                />
                <TextField
                  label={t.timeout}
                  type="number"
                  required
                  min={1}
                  max={600}
                  value={timeout}
                  onChange={(event) => setTimeoutSeconds(event.target.value)}
                  error={errorsAt(problem?.errors, '/healthCheck/timeoutSeconds')}
                />
              </div>
            )}
          </fieldset>
        </fieldset>
        {changed && (
          <div className="rounded-lg border border-line bg-sunken p-3">
            <PlanView live={live} idle="" hideErrors={pointers} />
          </div>
        )}
        {error !== null && <ErrorNote error={error} hideErrors={pointers} />}
        {mayChange && (
          <div>
            <Button type="submit" look="primary" busy={busy} disabled={!changed || name.trim() === ''} reason={reason}>
              {t.save}
            </Button>
          </div>
        )}
      </form>
    </Panel>
  )
}

function ProjectFile({ project }: { project: ProjectView }) {
  const query = useQuery(manifestQuery(project.id))
  const mayApply = useMay()('admin')
  const reason = engineReason(project)
  const [draft, setDraft] = useState<string | null>(null)
  const [prune, setPrune] = useState(false)
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const stored = query.data?.manifest ?? ''
  const text = draft ?? stored
  const changed = draft !== null && draft !== stored
  const body = { manifest: text, prune }
  const live = usePlan(['manifest', project.id], changed ? body : null, (input, signal) =>
    planManifest(project.id, input, signal),
  )

  const apply = async () => {
    setBusy(true)
    setError(null)
    try {
      const answer = await applyManifest(project.id, body)
      await query.refetch()
      setDraft(null)
      setPrune(false)
      toastDone(answer.operation === null ? t.saved : t.manifestApplied)
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
    }
  }
  return (
    <Panel
      title={t.manifest}
      detail={t.manifestHelp}
      actions={query.data && <CopyButton text={text} label={`${texts.common.copy}: ${t.manifestLabel}`} />}
    >
      <Loaded query={query} rows={3} height="h-6">
        {() => (
          <div className="flex flex-col gap-4">
            <TextArea
              label={t.manifestLabel}
              hideLabel
              mono
              rows={Math.min(18, Math.max(8, text.split('\n').length + 1))}
              value={text}
              readOnly={!mayApply || reason !== null}
              onChange={(event) => {
                setDraft(event.target.value)
                setError(null)
              }}
              onKeyDown={(event) => {
                // YAML knows no tabs; leaving the field stays Shift-Tab or Escape, Tab.
                if (
                  mayApply &&
                  reason === null &&
                  event.key === 'Tab' &&
                  event.shiftKey === false &&
                  event.currentTarget.dataset.leaving === undefined
                ) {
                  event.preventDefault()
                  document.execCommand('insertText', false, '  ')
                }
                if (event.key === 'Escape') event.currentTarget.dataset.leaving = ''
                else delete event.currentTarget.dataset.leaving
              }}
            />
            <p className="-mt-2 text-sm">
              <ExternalLink href={`${apiPrefix}/stackquay.schema.json`}>{t.manifestSchema}</ExternalLink>
            </p>
            {changed && (
              <>
                <Switch
                  label={t.manifestPrune}
                  help={t.manifestPruneHelp}
                  checked={prune}
                  onChange={(next) => {
                    setError(null)
                    setPrune(next)
                  }}
                />
                <div className="rounded-lg border border-line bg-sunken p-3">
                  {error === null ? <PlanView live={live} idle="" /> : <ErrorNote error={error} />}
                </div>
                <div className="flex gap-2">
                  <Button
                    look="primary"
                    busy={busy}
                    disabled={live.pending || live.plan === null}
                    reason={reason}
                    onClick={() => void apply()}
                  >
                    {t.manifestApply}
                  </Button>
                  <Button
                    onClick={() => {
                      setDraft(null)
                      setError(null)
                    }}
                  >
                    {t.manifestReset}
                  </Button>
                </div>
              </>
            )}
          </div>
        )}
      </Loaded>
    </Panel>
  )
}

function Duplicate({ project }: { project: ProjectView }) {
  const navigate = useNavigate()
  const [name, setName] = useState(() => t.duplicateDefault(project.name).slice(0, 60))
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const errors = error === null ? undefined : problemFrom(error).errors
  const submit = async () => {
    setBusy(true)
    setError(null)
    try {
      const copy = await duplicateProject(project.id, { name })
      if (copy.operation !== null)
        await navigate({ to: '/operations/$operation', params: { operation: copy.operation.id } })
      else await navigate({ to: '/projects/$project', params: { project: copy.slug } })
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
    }
  }
  return (
    <Panel id="duplicate" title={t.duplicate} detail={t.duplicateDetail}>
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault()
          void submit()
        }}
      >
        <TextField
          label={t.duplicateName}
          required
          maxLength={60}
          value={name}
          onChange={(event) => setName(event.target.value)}
          error={errorsAt(errors, '/name') ?? errorsAt(errors, '/slug')}
          className="max-w-md"
          action={
            <Button type="submit" busy={busy} reason={engineReason(project)}>
              {t.duplicateSubmit}
            </Button>
          }
        />
        {error !== null && <ErrorNote error={error} hideErrors={['/name', '/slug']} />}
      </form>
    </Panel>
  )
}

function Delete({ project }: { project: ProjectView }) {
  const navigate = useNavigate()
  const [open, setOpen] = useState(false)
  const [data, setData] = useState<'keep' | 'delete'>('keep')
  const live = usePlan(['delete', project.id], open ? data : null, (choice, signal) =>
    planDelete(project.id, choice, signal),
  )
  const running = project.status.workloads
    .filter((workload) => workload.state !== 'stopped')
    .map((workload) => workload.title)
  const databases = Object.keys(project.databases)
  const goes = [
    t.goes.record,
    ...(running.length > 0 ? [t.goes.workloads(running.join(', '))] : []),
    ...(data === 'delete' && databases.length > 0 ? [t.goes.databases(databases.join(', '))] : []),
  ]
  const stays = [
    t.stays.files(project.path),
    ...(data === 'keep' && databases.length > 0 ? [t.stays.databases(databases.join(', '))] : []),
  ]
  return (
    <Panel id="delete" title={t.deleteTitle} detail={t.deleteDetail} className="border-bad/40">
      <Button className="text-bad" reason={engineReason(project)} onClick={() => setOpen(true)}>
        {t.deleteButton}
      </Button>
      <ConfirmDialog
        open={open}
        onClose={() => setOpen(false)}
        title={t.deleteDialog(project.name)}
        word={project.slug}
        submit={data === 'delete' ? t.deleteDataSubmit : t.deleteSubmit}
        onConfirm={async (typed) => {
          await deleteProject(project.id, typed, data)
          toastDone(t.deleted(project.name))
          await navigate({ to: '/' })
        }}
      >
        <div className="mb-4 flex flex-col gap-3">
          <Facts title={t.willGo} items={goes} className="text-bad" />
          <Facts title={t.willStay} items={stays} className="text-good" />
          <Check
            label={t.deleteData}
            checked={data === 'delete'}
            onChange={(checked) => setData(checked ? 'delete' : 'keep')}
          />
          <div className="rounded-lg border border-line bg-sunken p-3">
            <PlanView live={live} idle="" />
          </div>
        </div>
      </ConfirmDialog>
    </Panel>
  )
}

function Facts({ title, items, className }: { title: string; items: readonly string[]; className: string }) {
  return (
    <div>
      <h3 className={`text-sm font-medium ${className}`}>{title}</h3>
      <ul className="list-inside list-disc text-ink-2">
        {items.map((item) => (
          <li key={item} className="break-words">
            {item}
          </li>
        ))}
      </ul>
    </div>
  )
}
