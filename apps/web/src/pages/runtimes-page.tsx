import type { OfferedRuntime, ProjectPatch, ProjectView } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { useBlocker } from '@tanstack/react-router'
import { Boxes } from 'lucide-react'
import { useState } from 'react'
import { planUpdate, updateProject } from '../api/changes.ts'
import { problemFrom } from '../api/client.ts'
import { runtimesQuery } from '../api/queries.ts'
import { Button } from '../components/button.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { ErrorNote, ErrorState } from '../components/error-state.tsx'
import { Switch } from '../components/field.tsx'
import { SkeletonList } from '../components/skeleton.tsx'
import { toastDone } from '../components/toast.tsx'
import { changesOf, isObject } from '../lib/settings-draft.ts'
import { fieldsOf } from '../lib/settings-fields.ts'
import { Monogram } from '../modules/monogram.tsx'
import { PlanView } from '../modules/plan-view.tsx'
import { engineReason } from '../modules/project-actions.ts'
import { SettingsForm, type SettingsValue } from '../modules/settings-form.tsx'
import { Unavailable } from '../modules/unavailable.tsx'
import { useMay } from '../modules/use-may.ts'
import { usePlan } from '../modules/use-plan.ts'
import { versionChoices } from '../modules/version-choices.ts'
import { texts } from '../texts/index.ts'
import { useProject } from './use-project.ts'
import { useTitle } from './use-title.ts'

const t = texts.runtimes
type Drafts = Readonly<Record<string, SettingsValue>>

export function RuntimesPage() {
  const project = useProject()
  useTitle(project.name, texts.project.tabs.runtimes)
  const runtimes = useQuery(runtimesQuery(project.engine))
  if (runtimes.isPending) return <SkeletonList rows={4} height="h-16" />
  if (runtimes.isError) return <ErrorState error={runtimes.error} onRetry={() => void runtimes.refetch()} />
  return <RuntimesForm key={project.id} project={project} runtimes={runtimes.data.runtimes} />
}

function RuntimesForm({ project, runtimes }: { project: ProjectView; runtimes: readonly OfferedRuntime[] }) {
  const may = useMay()
  const reason = engineReason(project)
  const [drafts, setDrafts] = useState<Drafts>({})
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const stored = (kind: OfferedRuntime): SettingsValue => {
    const settings = project[kind.name]
    return isObject(settings) ? settings : { enabled: false }
  }
  const patch = Object.fromEntries(
    runtimes.flatMap((kind) => {
      const draft = drafts[kind.name]
      const changes = draft === undefined ? null : changesOf(stored(kind), draft)
      return changes === null ? [] : [[kind.name, changes]]
    }),
  ) as ProjectPatch
  const changed = Object.keys(patch).length > 0
  const live = usePlan(['update', project.id], changed ? patch : null, (input, signal) =>
    planUpdate(project.id, input, signal),
  )
  const problem = error !== null ? problemFrom(error) : live.error ? problemFrom(live.error) : null
  useBlocker({ shouldBlockFn: () => !window.confirm(t.leave), enableBeforeUnload: () => changed, disabled: !changed })

  const apply = async () => {
    setBusy(true)
    setError(null)
    try {
      const answer = await updateProject(project.id, patch)
      setDrafts({})
      toastDone(answer.operation === null ? t.saved : t.applied)
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
    }
  }
  const section = (kind: OfferedRuntime) => (
    <KindSection
      key={kind.name}
      kind={kind}
      value={drafts[kind.name] ?? stored(kind)}
      isStored={isObject(project[kind.name])}
      onChange={(value) => {
        setError(null)
        setDrafts({ ...drafts, [kind.name]: value })
      }}
      errors={problem?.errors}
    />
  )
  if (runtimes.length === 0) return <EmptyState icon={Boxes} title={t.emptyTitle} detail={t.emptyDetail} />
  const here = (kind: OfferedRuntime) => kind.available || stored(kind).enabled === true
  const missing = runtimes.filter((kind) => !here(kind))
  return (
    <div className="flex w-full max-w-6xl flex-1 flex-col gap-4 px-4 py-5 sm:px-6">
      <div>
        <h2 className="text-base font-semibold">{t.title}</h2>
        <p className="text-sm text-ink-2">{t.detail}</p>
        {reason !== null && <p className="text-sm text-warn">{reason}</p>}
      </div>
      <fieldset disabled={!may('operate') || reason !== null} className="flex min-w-0 flex-col gap-4">
        <legend className="sr-only">{t.title}</legend>
        {[...runtimes]
          .filter(here)
          .sort((one, other) => Number(isObject(project[other.name])) - Number(isObject(project[one.name])))
          .map(section)}
      </fieldset>
      {missing.length > 0 && (
        <details className="rounded-lg border border-line bg-surface">
          <summary className="rounded-lg px-4 py-3 text-ink-2">{texts.create.showUnavailable(missing.length)}</summary>
          <ul className="grid grid-cols-1 gap-4 px-4 pb-4 md:grid-cols-2">
            {missing.map((kind) => (
              <li key={kind.name} className="min-w-0">
                <h3 className="mb-1 font-medium">{kind.label}</h3>
                <Unavailable label={kind.label} reason={kind.reason} install={kind.install} />
              </li>
            ))}
          </ul>
        </details>
      )}
      {changed && (
        <section
          aria-label={t.unsaved}
          className="sticky bottom-3 z-10 mt-auto animate-appear rounded-xl border border-line bg-raised p-4 shadow-pop"
        >
          <div className="flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
            <div className="scroll-thin max-h-56 min-w-0 flex-1 basis-72 overflow-y-auto">
              <h2 className="mb-1 text-sm text-ink-3">{t.unsaved}</h2>
              {error === null ? (
                <PlanView live={live} idle="" hideErrors={runtimes.map((kind) => `/${kind.name}`)} />
              ) : (
                <ErrorNote error={error} hideErrors={runtimes.map((kind) => `/${kind.name}`)} />
              )}
            </div>
            <div className="flex gap-2">
              <Button
                onClick={() => {
                  setDrafts({})
                  setError(null)
                }}
              >
                {texts.common.discard}
              </Button>
              <Button
                look="primary"
                busy={busy}
                disabled={live.pending || live.plan === null}
                reason={reason}
                onClick={() => void apply()}
              >
                {busy ? texts.common.applying : texts.common.apply}
              </Button>
            </div>
          </div>
        </section>
      )}
    </div>
  )
}

interface KindSectionProps {
  kind: OfferedRuntime
  value: SettingsValue
  isStored: boolean
  onChange: (value: SettingsValue) => void
  errors: Parameters<typeof SettingsForm>[0]['errors']
}

function KindSection({ kind, value, isStored, onChange, errors }: KindSectionProps) {
  const enabled = value.enabled === true
  const fields = fieldsOf(kind.settingsSchema).filter((field) => field.key !== 'enabled')
  // A runtime that was never used has no values yet: the service fills them in; only the choices that matter are asked.
  const asked = isStored ? fields : fields.filter((field) => field.key === 'version' || field.key === 'preset')
  const initial = kind.versions.find((version) => version.default)?.version
  return (
    <section aria-labelledby={`kind-${kind.name}`} className="min-w-0 rounded-lg border border-line bg-surface">
      <div className="flex items-center gap-3 px-4 py-3">
        <Monogram label={kind.label} />
        <div className="min-w-0 flex-1">
          <h3 id={`kind-${kind.name}`} className="truncate text-base font-medium">
            {kind.label}
          </h3>
          <p className="text-sm text-ink-3">{kind.summary}</p>
        </div>
        <Switch
          label={t.enable(kind.label)}
          hideLabel
          checked={enabled}
          disabled={!kind.available && !enabled}
          onChange={(next) =>
            onChange(
              isStored
                ? { ...value, enabled: next }
                : next
                  ? {
                      enabled: true,
                      ...(initial === undefined ? {} : { version: initial }),
                      ...(kind.presets[0] ? { preset: kind.presets[0].name } : {}),
                    }
                  : { enabled: false },
            )
          }
        />
      </div>
      {enabled && asked.length > 0 && (
        <div className="border-t border-line p-4">
          {!kind.available && (
            <div className="mb-4">
              <Unavailable label={kind.label} reason={kind.reason} install={kind.install} />
            </div>
          )}
          <SettingsForm
            fields={asked}
            value={value}
            onChange={onChange}
            pointer={`/${kind.name}`}
            errors={errors}
            choices={{
              ...(kind.versions.length > 0 ? { version: versionChoices(kind.versions) } : {}),
              ...(kind.presets.length > 0
                ? { preset: kind.presets.map((preset) => ({ value: preset.name, label: preset.label })) }
                : {}),
            }}
          />
        </div>
      )}
    </section>
  )
}
