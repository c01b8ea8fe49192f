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
import { UnsavedBar } from '../components/unsaved-bar.tsx'
import { changesOf, isObject } from '../lib/settings-changes.ts'
import { fieldsOf } from '../lib/settings-fields.ts'
import { Monogram } from '../modules/monogram.tsx'
import { PlanView } from '../modules/plan-view.tsx'
import { engineReason } from '../modules/project-actions.ts'
import { SettingsForm, type SettingsValue } from '../modules/settings-form.tsx'
import { Unavailable } from '../modules/unavailable.tsx'
import { useMay } from '../modules/use-may.ts'
import { type LivePlan, usePlan } from '../modules/use-plan.ts'
import { useSubmit } from '../modules/use-submit.ts'
import { versionChoices } from '../modules/version-choices.ts'
import { texts } from '../texts/index.ts'
import { useProject } from './use-project.ts'
import { useTitle } from './use-title.ts'

const t = texts.runtimes

type FormStates = Readonly<Record<string, SettingsValue>>

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
  const [forms, setForms] = useState<FormStates>({})
  const { busy, error, clear, run } = useSubmit()
  const stored = (runtime: OfferedRuntime): SettingsValue => {
    const settings = project[runtime.name]
    return isObject(settings) ? settings : { enabled: false }
  }
  const patch = Object.fromEntries(
    runtimes.flatMap((runtime) => {
      const form = forms[runtime.name]
      const changes = form === undefined ? null : changesOf(stored(runtime), form)
      return changes === null ? [] : [[runtime.name, changes]]
    }),
  ) as ProjectPatch
  const changed = Object.keys(patch).length > 0
  const live = usePlan(['update', project.id], changed ? patch : null, (input, signal) =>
    planUpdate(project.id, input, signal),
  )
  const problem = error !== null ? problemFrom(error) : live.error ? problemFrom(live.error) : null
  useBlocker({ shouldBlockFn: () => !window.confirm(t.leave), enableBeforeUnload: () => changed, disabled: !changed })

  const apply = async () => {
    await run(async () => {
      const answer = await updateProject(project.id, patch)
      setForms({})
      toastDone(answer.operation === null ? t.saved : t.applied)
    })
  }
  const section = (runtime: OfferedRuntime) => (
    <RuntimeSection
      key={runtime.name}
      runtime={runtime}
      value={forms[runtime.name] ?? stored(runtime)}
      isStored={isObject(project[runtime.name])}
      onChange={(value) => {
        clear()
        setForms({ ...forms, [runtime.name]: value })
      }}
      errors={problem?.errors}
    />
  )
  if (runtimes.length === 0) return <EmptyState icon={Boxes} title={t.emptyTitle} detail={t.emptyDetail} />
  const here = (runtime: OfferedRuntime) => runtime.available || stored(runtime).enabled === true
  const missing = runtimes.filter((runtime) => !here(runtime))
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
      {missing.length > 0 && <Missing runtimes={missing} />}
      {changed && (
        <Unsaved
          live={live}
          error={error}
          pointers={runtimes.map((runtime) => `/${runtime.name}`)}
          busy={busy}
          reason={reason}
          onDiscard={() => {
            setForms({})
            clear()
          }}
          onApply={apply}
        />
      )}
    </div>
  )
}

/** What this machine lacks, with the way to get it. */
function Missing({ runtimes }: { runtimes: readonly OfferedRuntime[] }) {
  return (
    <details className="rounded-lg border border-line bg-surface">
      <summary className="rounded-lg px-4 py-3 text-ink-2">{texts.create.showUnavailable(runtimes.length)}</summary>
      <ul className="grid grid-cols-1 gap-4 px-4 pb-4 md:grid-cols-2">
        {runtimes.map((runtime) => (
          <li key={runtime.name} className="min-w-0">
            <h3 className="mb-1 font-medium">{runtime.label}</h3>
            <Unavailable label={runtime.label} reason={runtime.reason} install={runtime.install} />
          </li>
        ))}
      </ul>
    </details>
  )
}

interface UnsavedProps {
  live: LivePlan
  error: unknown
  /** Of mistakes that stand at their fields. */
  pointers: readonly string[]
  busy: boolean
  /** Why nothing can be applied now. */
  reason: string | null
  onDiscard: () => void
  onApply: () => Promise<void>
}

function Unsaved({ live, error, pointers, busy, reason, onDiscard, onApply }: UnsavedProps) {
  return (
    <UnsavedBar label={t.unsaved}>
      <div className="flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
        <div className="scroll-thin max-h-56 min-w-0 flex-1 basis-72 overflow-y-auto">
          <h2 className="mb-1 text-sm text-ink-3">{t.unsaved}</h2>
          {error === null ? (
            <PlanView live={live} idle="" hideErrors={pointers} />
          ) : (
            <ErrorNote error={error} hideErrors={pointers} />
          )}
        </div>
        <div className="flex gap-2">
          <Button onClick={onDiscard}>{texts.common.discard}</Button>
          <Button
            look="primary"
            busy={busy}
            disabled={live.pending || live.plan === null}
            reason={reason}
            onClick={() => void onApply()}
          >
            {busy ? texts.common.applying : texts.common.apply}
          </Button>
        </div>
      </div>
    </UnsavedBar>
  )
}

interface RuntimeSectionProps {
  runtime: OfferedRuntime
  value: SettingsValue
  isStored: boolean
  onChange: (value: SettingsValue) => void
  errors: Parameters<typeof SettingsForm>[0]['errors']
}

function RuntimeSection({ runtime, value, isStored, onChange, errors }: RuntimeSectionProps) {
  const enabled = value.enabled === true
  const fields = fieldsOf(runtime.settingsSchema).filter((field) => field.key !== 'enabled')
  // A runtime that was never used has no values yet: the service fills them in; only the choices that matter are asked.
  const asked = isStored ? fields : fields.filter((field) => field.key === 'version' || field.key === 'preset')
  const initial = runtime.versions.find((version) => version.default)?.version
  return (
    <section aria-labelledby={`runtime-${runtime.name}`} className="min-w-0 rounded-lg border border-line bg-surface">
      <div className="flex items-center gap-3 px-4 py-3">
        <Monogram label={runtime.label} />
        <div className="min-w-0 flex-1">
          <h3 id={`runtime-${runtime.name}`} className="truncate text-base font-medium">
            {runtime.label}
          </h3>
          <p className="text-sm text-ink-3">{runtime.summary}</p>
        </div>
        <Switch
          label={t.enable(runtime.label)}
          hideLabel
          checked={enabled}
          disabled={!runtime.available && !enabled}
          onChange={(next) =>
            onChange(
              isStored
                ? { ...value, enabled: next }
                : next
                  ? {
                      enabled: true,
                      ...(initial === undefined ? {} : { version: initial }),
                      ...(runtime.presets[0] ? { preset: runtime.presets[0].name } : {}),
                    }
                  : { enabled: false },
            )
          }
        />
      </div>
      {enabled && asked.length > 0 && (
        <div className="border-t border-line p-4">
          {!runtime.available && (
            <div className="mb-4">
              <Unavailable label={runtime.label} reason={runtime.reason} install={runtime.install} />
            </div>
          )}
          <SettingsForm
            fields={asked}
            value={value}
            onChange={onChange}
            pointer={`/${runtime.name}`}
            errors={errors}
            choices={{
              ...(runtime.versions.length > 0 ? { version: versionChoices(runtime.versions) } : {}),
              ...(runtime.presets.length > 0
                ? { preset: runtime.presets.map((preset) => ({ value: preset.name, label: preset.label })) }
                : {}),
            }}
          />
        </div>
      )}
    </section>
  )
}
