import type { OfferedRuntime, OfferedTemplate } from '@stackquay/contract'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Check as CheckIcon, FolderOpen, GitBranch, LayoutTemplate, type LucideIcon, Square } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { createProject, planCreate } from '../api/changes.ts'
import { problemFrom } from '../api/client.ts'
import { diagnosticsQuery, projectsQuery, runtimesQuery, servicesQuery } from '../api/queries.ts'
import { Button } from '../components/button.tsx'
import { cx } from '../components/class-names.ts'
import { ErrorNote, ErrorState } from '../components/error-state.tsx'
import { Check, SelectField, Switch, TextField } from '../components/field.tsx'
import { PageHeader, Panel } from '../components/panel.tsx'
import { SkeletonList } from '../components/skeleton.tsx'
import { tileChosen, tileClass, tileInput, tileOther } from '../components/tile.ts'
import { errorsAt } from '../lib/field-errors.ts'
import { freeName, freeSlug, slugOf } from '../lib/names.ts'
import {
  bodyOf,
  type Draft,
  emptyDraft,
  offeredDraft,
  type Source,
  sources,
  suggestedName,
} from '../lib/project-draft.ts'
import { EngineChoice } from '../modules/engine-choice.tsx'
import { Monogram } from '../modules/monogram.tsx'
import { PlanView } from '../modules/plan-view.tsx'
import type { ServiceKind } from '../modules/service-kind.ts'
import { Unavailable } from '../modules/unavailable.tsx'
import { usePlan } from '../modules/use-plan.ts'
import { VersionSelect } from '../modules/version-select.tsx'
import { texts } from '../texts/index.ts'
import { useTitle } from './use-title.ts'

const t = texts.create
export function NewProjectPage() {
  useTitle(t.title)
  const [draft, setDraft] = useState(emptyDraft)
  // Until another engine's offers are here, those of the one before stay on the screen.
  const runtimes = useQuery({ ...runtimesQuery(draft.engine), placeholderData: keepPreviousData })
  const services = useQuery({ ...servicesQuery(draft.engine), placeholderData: keepPreviousData })
  return (
    <div className="flex w-full max-w-[96rem] flex-col gap-4 px-4 py-5 sm:px-6">
      <PageHeader title={t.title} />
      {runtimes.isPending || services.isPending ? (
        <SkeletonList rows={5} height="h-16" />
      ) : runtimes.isError || services.isError ? (
        <ErrorState
          error={runtimes.error ?? services.error}
          onRetry={() => {
            void runtimes.refetch()
            void services.refetch()
          }}
        />
      ) : (
        <Form
          typed={draft}
          onChange={setDraft}
          waiting={runtimes.isPlaceholderData || services.isPlaceholderData}
          runtimes={runtimes.data.runtimes}
          templates={runtimes.data.templates}
          databases={services.data.items.filter((item) => item.kind === 'database')}
          services={services.data.items.filter((item) => item.kind === 'service')}
        />
      )}
    </div>
  )
}

interface FormProps {
  /** As it was typed, also what the engine chosen now does not offer: the other one may. */
  typed: Draft
  onChange: (draft: Draft) => void
  /** What is offered is still that of the engine chosen before. */
  waiting: boolean
  runtimes: readonly OfferedRuntime[]
  templates: readonly OfferedTemplate[]
  databases: readonly ServiceKind[]
  services: readonly ServiceKind[]
}

function Form({ typed, onChange, waiting, runtimes, templates, databases, services }: FormProps) {
  const navigate = useNavigate()
  const draft = offeredDraft(typed, { runtimes, templates, databases, services })
  const engines = useQuery(diagnosticsQuery).data?.engines ?? []
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const change = (part: Partial<Draft>) => {
    setError(null)
    onChange({ ...typed, ...part })
  }
  const taken = (useQuery(projectsQuery).data ?? []).map((project) => project.slug)
  const name = draft.name ?? freeSlug(suggestedName(draft), taken)
  const body = waiting ? null : bodyOf(draft, name.trim())
  const live = usePlan(['create'], body, planCreate)
  const problem = error !== null ? problemFrom(error) : live.error ? problemFrom(live.error) : null
  const errors = problem?.errors
  const shownPointers = [
    '/name',
    '/slug',
    '/git',
    '/path',
    '/runAs',
    '/template',
    ...[...runtimes, ...services].map((kind) => `/${kind.name}`),
    '/databases',
    ...(engines.length > 1 ? ['/engine'] : []),
  ]
  const template = templates.find((item) => item.name === draft.template)
  const willRun =
    draft.source !== 'empty' ||
    [draft.runtimes, draft.databases, draft.services].some((choices) => Object.keys(choices).length > 0)

  const submit = async () => {
    if (body === null) return
    setBusy(true)
    setError(null)
    try {
      const project = await createProject(body)
      if (project.operation !== null)
        await navigate({ to: '/operations/$operation', params: { operation: project.operation.id } })
      else await navigate({ to: '/projects/$project', params: { project: project.slug } })
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
    }
  }

  return (
    <form
      className="grid grid-cols-1 items-start gap-4 xl:grid-cols-[minmax(0,1fr)_26rem]"
      onSubmit={(event) => {
        event.preventDefault()
        void submit()
      }}
    >
      <div className="flex min-w-0 flex-col gap-4">
        <Panel>
          <SourceChoice value={draft.source} onChange={(source) => change({ source })} />
          <p className="mt-2 text-sm text-ink-2">{t.sourceHelp[draft.source]}</p>
          <div className="mt-4">
            {draft.source === 'template' && (
              <Gallery
                templates={templates}
                chosen={draft.template}
                onChoose={(chosen) => change({ template: chosen })}
                error={errorsAt(errors, '/template')}
              />
            )}
            {draft.source === 'git' && (
              <div className="grid grid-cols-1 gap-4 sm:grid-cols-[minmax(0,1fr)_14rem]">
                <TextField
                  label={t.gitUrl}
                  help={t.gitUrlHelp}
                  mono
                  inputMode="url"
                  spellCheck={false}
                  autoCapitalize="none"
                  value={draft.gitUrl}
                  onChange={(event) => change({ gitUrl: event.target.value })}
                  error={errorsAt(errors, '/git/url')}
                />
                <TextField
                  label={t.gitBranch}
                  optional
                  help={t.gitBranchHelp}
                  mono
                  spellCheck={false}
                  autoCapitalize="none"
                  value={draft.gitBranch}
                  onChange={(event) => change({ gitBranch: event.target.value })}
                  error={errorsAt(errors, '/git/branch')}
                />
              </div>
            )}
            {draft.source === 'folder' && (
              <div className="flex flex-col gap-4">
                <TextField
                  label={t.folder}
                  help={t.folderHelp}
                  mono
                  spellCheck={false}
                  autoCapitalize="none"
                  value={draft.path}
                  onChange={(event) => change({ path: event.target.value })}
                  error={errorsAt(errors, '/path')}
                />
                <Switch
                  label={t.asOwner}
                  help={t.asOwnerHelp}
                  checked={draft.asOwner}
                  onChange={(asOwner) => change({ asOwner })}
                  error={errorsAt(errors, '/runAs')}
                />
              </div>
            )}
          </div>
        </Panel>

        <EngineChoice
          engines={engines}
          chosen={draft.engine}
          onChoose={(engine) => change({ engine })}
          error={errorsAt(errors, '/engine')}
        />

        <Panel
          title={t.runtimes}
          detail={
            draft.source === 'template' && template
              ? t.templateBrings(
                  runtimes.find((runtime) => runtime.name === template.runtime)?.label ?? template.runtime,
                )
              : t.runtimesHelp[draft.source]
          }
        >
          <Tiles>
            {runtimes
              .filter((runtime) => runtime.available)
              .map((runtime) => {
                const brought = draft.source === 'template' && template?.runtime === runtime.name
                const choice = draft.runtimes[runtime.name]
                return (
                  <Tile
                    key={runtime.name}
                    label={runtime.label}
                    summary={brought ? t.fromTemplate : runtime.summary}
                    checked={choice !== undefined}
                    onChange={(checked) =>
                      change({
                        runtimes: withEntry(draft.runtimes, runtime.name, checked ? { version: '', preset: '' } : null),
                      })
                    }
                    error={errorsAt(errors, `/${runtime.name}`)}
                  >
                    {choice && (
                      <>
                        <VersionSelect
                          label={t.versionOf(runtime.label)}
                          hideLabel
                          versions={runtime.versions}
                          value={choice.version}
                          onChange={(version) =>
                            change({ runtimes: { ...draft.runtimes, [runtime.name]: { ...choice, version } } })
                          }
                        />
                        {runtime.presets.length > 1 && (
                          <SelectField
                            label={t.presetOf(runtime.label)}
                            hideLabel
                            value={choice.preset}
                            onChange={(event) =>
                              change({
                                runtimes: {
                                  ...draft.runtimes,
                                  [runtime.name]: { ...choice, preset: event.target.value },
                                },
                              })
                            }
                          >
                            <option value="">{t.presetAuto}</option>
                            {runtime.presets.map((preset) => (
                              <option key={preset.name} value={preset.name}>
                                {preset.label}
                              </option>
                            ))}
                          </SelectField>
                        )}
                      </>
                    )}
                  </Tile>
                )
              })}
          </Tiles>
          <Missing items={runtimes.filter((runtime) => !runtime.available)} />
        </Panel>

        <Panel title={t.databases} detail={t.databasesHelp}>
          <Tiles>
            {databases
              .filter((kind) => kind.available)
              .map((kind) => {
                const choice = draft.databases[kind.name]
                const brought = draft.source === 'template' && template?.databases.includes(kind.name)
                return (
                  <Tile
                    key={kind.name}
                    label={kind.label}
                    summary={brought ? t.fromTemplate : kind.summary}
                    checked={choice !== undefined}
                    onChange={(checked) =>
                      change({
                        databases: withEntry(
                          draft.databases,
                          kind.name,
                          checked
                            ? {
                                name: freeName(
                                  brought ? 'extra' : 'main',
                                  Object.values(draft.databases).map((item) => item.name),
                                ),
                                version: '',
                              }
                            : null,
                        ),
                      })
                    }
                    error={choice ? errorsAt(errors, `/databases/${choice.name}`) : null}
                  >
                    {choice && (
                      <>
                        <TextField
                          label={t.nameOfDatabase(kind.label)}
                          hideLabel
                          mono
                          value={choice.name}
                          spellCheck={false}
                          autoCapitalize="none"
                          onChange={(event) =>
                            change({
                              databases: { ...draft.databases, [kind.name]: { ...choice, name: event.target.value } },
                            })
                          }
                        />
                        <VersionSelect
                          label={t.versionOf(kind.label)}
                          hideLabel
                          versions={kind.versions}
                          value={choice.version}
                          onChange={(version) =>
                            change({ databases: { ...draft.databases, [kind.name]: { ...choice, version } } })
                          }
                        />
                      </>
                    )}
                  </Tile>
                )
              })}
          </Tiles>
          <Missing items={databases.filter((kind) => !kind.available)} />
        </Panel>

        <Panel title={t.services} detail={t.servicesHelp}>
          <Tiles>
            {services
              .filter((kind) => kind.available)
              .map((kind) => {
                const version = draft.services[kind.name]
                return (
                  <Tile
                    key={kind.name}
                    label={kind.label}
                    summary={kind.summary}
                    checked={version !== undefined}
                    onChange={(checked) =>
                      change({ services: withEntry(draft.services, kind.name, checked ? '' : null) })
                    }
                    error={errorsAt(errors, `/${kind.name}`)}
                  >
                    {version !== undefined && kind.versions.length > 1 && (
                      <VersionSelect
                        label={t.versionOf(kind.label)}
                        hideLabel
                        versions={kind.versions}
                        value={version}
                        onChange={(next) => change({ services: { ...draft.services, [kind.name]: next } })}
                      />
                    )}
                  </Tile>
                )
              })}
          </Tiles>
          <Missing items={services.filter((kind) => !kind.available)} />
        </Panel>
      </div>

      <aside aria-label={t.planTitle} className="flex flex-col gap-4 xl:sticky xl:top-5">
        <Panel>
          <TextField
            label={t.name}
            help={slugOf(name) === '' ? undefined : t.slug(slugOf(name))}
            maxLength={60}
            value={name}
            onChange={(event) => change({ name: event.target.value })}
            error={errorsAt(errors, '/name') ?? errorsAt(errors, '/slug')}
          />
          <h2 className="mt-5 mb-2 text-base font-semibold">{t.planTitle}</h2>
          <div className="scroll-thin -mr-2 max-h-[50vh] overflow-y-auto pr-2">
            <PlanView live={live} idle={t.planIdle} hideErrors={shownPointers} />
          </div>
          <div className="mt-4 flex flex-col gap-3 border-t border-line pt-4">
            {willRun && <Check label={t.startAfter} checked={draft.start} onChange={(start) => change({ start })} />}
            {error !== null && <ErrorNote error={error} hideErrors={shownPointers} />}
            <Button type="submit" look="primary" size="lg" busy={busy} disabled={body === null}>
              {busy ? t.submitting : t.submit}
            </Button>
          </div>
        </Panel>
      </aside>
    </form>
  )
}

function withEntry<Value>(
  entries: Readonly<Record<string, Value>>,
  key: string,
  value: Value | null,
): Readonly<Record<string, Value>> {
  const { [key]: _, ...others } = entries
  return value === null ? others : { ...others, [key]: value }
}

const sourceIcons: Readonly<Record<Source, LucideIcon>> = {
  template: LayoutTemplate,
  git: GitBranch,
  folder: FolderOpen,
  empty: Square,
}

function SourceChoice({ value, onChange }: { value: Source; onChange: (source: Source) => void }) {
  return (
    <fieldset className="grid grid-cols-2 gap-2 lg:grid-cols-4 xl:grid-cols-2 2xl:grid-cols-4">
      <legend className="mb-2 text-sm font-medium">{t.sourceLabel}</legend>
      {sources.map((source) => {
        const Icon = sourceIcons[source]
        return (
          <label
            key={source}
            className={cx(tileClass, 'items-center gap-2 p-2.5', value === source ? tileChosen : tileOther)}
          >
            <input
              type="radio"
              name="source"
              checked={value === source}
              onChange={() => onChange(source)}
              className={tileInput}
            />
            <Icon aria-hidden className={cx('size-4', value === source ? 'text-accent-ink' : 'text-ink-3')} />
            <span className="min-w-0 truncate font-medium">{t.sources[source]}</span>
          </label>
        )
      })}
    </fieldset>
  )
}

function Gallery({
  templates,
  chosen,
  onChoose,
  error,
}: {
  templates: readonly OfferedTemplate[]
  chosen: string
  onChoose: (name: string) => void
  error: string | null
}) {
  if (templates.length === 0) return <p className="text-ink-2">{t.noTemplates}</p>
  const groups = [
    { title: t.examples, items: templates.filter((template) => template.example && template.available) },
    { title: t.templates, items: templates.filter((template) => !template.example && template.available) },
  ].filter((group) => group.items.length > 0)
  return (
    <div className="flex flex-col gap-4">
      {error && <p className="text-sm text-bad">{error}</p>}
      {groups.map((group) => (
        <fieldset key={group.title} className="min-w-0">
          <legend className="mb-1.5 text-sm text-ink-3">{group.title}</legend>
          <Tiles>
            {group.items.map((template) => (
              <label
                key={template.name}
                className={cx(tileClass, 'gap-3 p-3', chosen === template.name ? tileChosen : tileOther)}
              >
                <input
                  type="radio"
                  name="template"
                  checked={chosen === template.name}
                  onChange={() => onChoose(template.name)}
                  className={tileInput}
                />
                <Monogram label={template.label} />
                <span className="min-w-0 flex-1">
                  <span className="block font-medium">{template.label}</span>
                  <span className="block text-sm text-ink-2">{template.summary}</span>
                </span>
                {chosen === template.name && <CheckIcon aria-hidden className="size-4 shrink-0 text-accent-ink" />}
              </label>
            ))}
          </Tiles>
        </fieldset>
      ))}
      <Missing items={templates.filter((template) => !template.available)} />
    </div>
  )
}

interface MissingItem {
  readonly name: string
  readonly label: string
  readonly reason: string | null
  readonly install: string | null
}

/** What this machine cannot offer, greyed out, with the reason and the way to get it. */
function Missing({ items }: { items: readonly MissingItem[] }) {
  if (items.length === 0) return null
  return (
    <details className="mt-3" open={items.length <= 4}>
      <summary className="w-fit rounded py-1 text-sm text-ink-2 hover:text-ink">
        {t.showUnavailable(items.length)}
      </summary>
      <ul className="mt-2 grid grid-cols-1 gap-3 md:grid-cols-2">
        {items.map((item) => (
          <li key={item.name} className="min-w-0 rounded-lg border border-dashed border-line-strong/60 p-3">
            <p className="mb-1 font-medium text-ink-2">{item.label}</p>
            <Unavailable label={item.label} reason={item.reason} install={item.install} />
          </li>
        ))}
      </ul>
    </details>
  )
}

function Tiles({ children }: { children: ReactNode }) {
  return <div className="grid grid-cols-1 gap-2 sm:grid-cols-2 2xl:grid-cols-3">{children}</div>
}

function Tile({
  label,
  summary,
  checked,
  onChange,
  error,
  children,
}: {
  label: string
  summary: string
  checked: boolean
  onChange: (checked: boolean) => void
  error: string | null
  children: ReactNode
}) {
  return (
    <div className={cx('min-w-0 rounded-lg border bg-surface', checked ? 'border-accent-ink' : 'border-line')}>
      <label
        className={cx(
          'relative flex min-w-0 items-start gap-3 rounded-lg p-3 has-focus-visible:outline-2 has-focus-visible:outline-accent-ink',
          !checked && 'hover:bg-hover',
        )}
      >
        <Monogram label={label} />
        <span className="min-w-0 flex-1">
          <span className="block font-medium">{label}</span>
          <span className="block text-sm text-ink-2">{summary}</span>
        </span>
        <input
          type="checkbox"
          checked={checked}
          onChange={(event) => onChange(event.target.checked)}
          className="mt-1 size-4 shrink-0 accent-(--accent)"
        />
      </label>
      {checked && <div className="flex flex-col gap-2 px-3 pb-3">{children}</div>}
      {error && <p className="px-3 pb-3 text-sm text-bad">{error}</p>}
    </div>
  )
}
