import type { ProjectPatch, ProjectView } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { ClipboardPaste, Eye, EyeOff, LockKeyhole, Pencil, Plus, Trash2, Variable } from 'lucide-react'
import { useEffect, useState } from 'react'
import {
  planUpdate,
  removeVariable,
  revealVariable,
  setVariable,
  setVariables,
  type VariableChange,
  variablePatch,
} from '../api/changes.ts'
import { problemFrom } from '../api/client.ts'
import { projectEnvQuery, runtimesQuery } from '../api/queries.ts'
import { Button, IconButton } from '../components/button.tsx'
import { Choices } from '../components/choices.tsx'
import { ConfirmDialog } from '../components/confirm-dialog.tsx'
import { CopyButton } from '../components/copy-button.tsx'
import { Dialog, DialogActions } from '../components/dialog.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { ErrorNote } from '../components/error-state.tsx'
import { Check, Switch, TextArea, TextField } from '../components/field.tsx'
import { Loaded } from '../components/loaded.tsx'
import { Panel } from '../components/panel.tsx'
import { Cell, Table } from '../components/table.tsx'
import { toastDone, toastProblem } from '../components/toast.tsx'
import { isEnvName, parseDotEnv } from '../lib/env-names.ts'
import { errorsAt } from '../lib/field-errors.ts'
import { isObject } from '../lib/settings-draft.ts'
import { PlanView } from '../modules/plan-view.tsx'
import { engineReason } from '../modules/project-actions.ts'
import { useLabels } from '../modules/use-labels.ts'
import { useMay } from '../modules/use-may.ts'
import { usePlan } from '../modules/use-plan.ts'
import { texts } from '../texts/index.ts'
import { useProject } from './use-project.ts'
import { useTitle } from './use-title.ts'

const t = texts.env
interface Editing {
  readonly name: string | null
  readonly value: string
  readonly secret: boolean
  /** Null for all. */
  readonly runtimes: readonly string[] | null
}

export function EnvPage() {
  const project = useProject()
  useTitle(project.name, texts.project.tabs.env)
  const query = useQuery(projectEnvQuery(project.id))
  const [editing, setEditing] = useState<Editing | null>(null)
  const [deleting, setDeleting] = useState<string | null>(null)
  const [pasting, setPasting] = useState(false)
  const mayChange = useMay()('operate')
  const reason = engineReason(project)
  const labels = useLabels(project.engine)
  const variables = Object.entries(query.data?.env ?? {}).sort(([one], [other]) => one.localeCompare(other))
  const receivers = useReceivers(project)
  const several = receivers.length > 1 || variables.some(([, variable]) => variable.runtimes !== null)
  const add = () => setEditing({ name: null, value: '', secret: false, runtimes: null })

  return (
    <div className="flex w-full max-w-6xl flex-col gap-4 px-4 py-5 sm:px-6">
      <Panel
        title={t.title}
        detail={t.detail}
        flush
        actions={
          mayChange && (
            <>
              <Button icon={ClipboardPaste} reason={reason} onClick={() => setPasting(true)}>
                {t.paste}
              </Button>
              <Button icon={Plus} look="primary" reason={reason} onClick={add}>
                {t.add}
              </Button>
            </>
          )
        }
      >
        <Loaded query={query} rows={4} height="h-8">
          {() =>
            variables.length === 0 ? (
              <EmptyState icon={Variable} title={t.emptyTitle} detail={t.emptyDetail} />
            ) : (
              <Table
                label={t.title}
                head={[
                  { title: t.columns.name },
                  { title: t.columns.value },
                  several ? { title: t.columns.receivers } : null,
                  { title: t.columns.actions, hidden: true },
                ]}
              >
                {variables.map(([name, variable]) => (
                  <VariableRow
                    key={name}
                    name={name}
                    variable={variable}
                    readAt={query.dataUpdatedAt}
                    receivers={several ? receiversText(variable, labels) : null}
                    reason={reason}
                    mayChange={mayChange}
                    reveal={() => revealVariable(project.id, name)}
                    onEdit={() =>
                      setEditing({
                        name,
                        value: variable.secret ? '' : (variable.value ?? ''),
                        secret: variable.secret,
                        runtimes: variable.runtimes,
                      })
                    }
                    onDelete={() => setDeleting(name)}
                  />
                ))}
              </Table>
            )
          }
        </Loaded>
      </Panel>
      {query.data && query.data.injected.length > 0 && (
        <Panel title={t.injected} detail={t.injectedDetail}>
          <ul className="flex flex-wrap gap-1.5">
            {query.data.injected.map((name) => (
              <li key={name} className="rounded-md border border-line bg-sunken px-2 py-0.5">
                <code>{name}</code>
              </li>
            ))}
          </ul>
        </Panel>
      )}
      <Dialog
        open={editing !== null}
        onClose={() => setEditing(null)}
        title={editing?.name == null ? t.addTitle : t.editTitle(editing.name)}
        wide
      >
        {editing !== null && <VariableForm project={project} editing={editing} onClose={() => setEditing(null)} />}
      </Dialog>
      <Dialog open={pasting} onClose={() => setPasting(false)} title={t.pasteTitle} detail={t.pasteDetail} wide>
        <PasteForm project={project.id} onClose={() => setPasting(false)} />
      </Dialog>
      <ConfirmDialog
        open={deleting !== null}
        onClose={() => setDeleting(null)}
        title={t.deleteTitle(deleting ?? '')}
        detail={t.deleteDetail}
        submit={texts.common.delete}
        onConfirm={async () => {
          if (deleting === null) return
          await removeVariable(project.id, deleting)
          await query.refetch()
          toastDone(t.deleted(deleting))
        }}
      >
        {deleting !== null && (
          <div className="mb-4">
            <EnvPlan project={project.id} env={{ [deleting]: null }} />
          </div>
        )}
      </ConfirmDialog>
    </div>
  )
}

type ListedVariable = ProjectView['env'][string]

interface VariableRowProps {
  readonly name: string
  readonly variable: ListedVariable
  /** When the list was read: a value revealed before may be an old one. */
  readonly readAt: number
  readonly receivers: string | null
  readonly reason: string | null
  readonly mayChange: boolean
  readonly reveal: () => Promise<string>
  readonly onEdit: () => void
  readonly onDelete: () => void
}

function VariableRow({
  name,
  variable,
  readAt,
  receivers,
  reason,
  mayChange,
  reveal,
  onEdit,
  onDelete,
}: VariableRowProps) {
  const secret = useRevealed(reveal, readAt)
  const value = variable.secret ? secret.value : variable.value
  return (
    <tr className="hover:bg-hover/60">
      <Cell className="max-w-80 align-top">
        <code className="block truncate leading-8 font-medium" title={name}>
          {name}
        </code>
      </Cell>
      <Cell className="w-full max-w-0 min-w-28 align-top sm:min-w-40">
        <Value value={value} whole={variable.secret} />
      </Cell>
      {receivers !== null && <Cell className="align-top leading-8 whitespace-nowrap text-ink-2">{receivers}</Cell>}
      <Cell end className="align-top whitespace-nowrap">
        {variable.secret && mayChange && (
          <IconButton
            icon={secret.value === null ? Eye : EyeOff}
            label={secret.value === null ? t.revealOne(name) : t.hideOne(name)}
            busy={secret.busy}
            onClick={() => void secret.toggle()}
          />
        )}
        {value !== null && <CopyButton text={value} label={t.copyOne(name)} size="md" />}
        {mayChange && (
          <>
            <IconButton icon={Pencil} label={t.editOne(name)} reason={reason} onClick={onEdit} />
            <IconButton icon={Trash2} label={t.deleteOne(name)} reason={reason} onClick={onDelete} />
          </>
        )}
      </Cell>
    </tr>
  )
}

/** One secret's value: read when it is asked for, kept nowhere else, and gone when the list is read again. */
function useRevealed(reveal: () => Promise<string>, readAt: number) {
  const [value, setValue] = useState<string | null>(null)
  const [busy, setBusy] = useState(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new reading of the list hides what was revealed.
  useEffect(() => setValue(null), [readAt])
  const toggle = async () => {
    if (value !== null) return setValue(null)
    setBusy(true)
    try {
      setValue(await reveal())
    } catch (failure) {
      toastProblem(failure)
    } finally {
      setBusy(false)
    }
  }
  return { value, busy, toggle }
}

function receiversText({ runtimes }: ListedVariable, labels: Readonly<Record<string, string>>): string {
  return runtimes === null ? t.allReceivers : runtimes.map((runtime) => labels[runtime] ?? runtime).join(', ')
}

/** `whole`: somebody asked to see it, so all of it is there. */
function Value({ value, whole }: { value: string | null; whole: boolean }) {
  if (value === null) {
    return (
      <span className="inline-flex items-center gap-1.5 leading-8 text-ink-3">
        <LockKeyhole aria-hidden className="size-3.5" />
        {t.secretValue}
      </span>
    )
  }
  if (value === '') return <span className="leading-8 text-ink-3 italic">{t.emptyValue}</span>
  if (whole) return <code className="block py-1.5 break-all whitespace-pre-wrap">{value}</code>
  const lines = value.split('\n').length
  return (
    <span className="flex min-w-0 items-center gap-2 leading-8">
      <code className="block min-w-0 truncate">{value.split('\n')[0]}</code>
      {lines > 1 && (
        <span className="numbers shrink-0 rounded-full bg-idle-soft px-2 text-xs leading-5 text-ink-2">
          {t.lines(lines)}
        </span>
      )}
    </span>
  )
}

/** What a change of variables does to what runs, before it is done. */
function EnvPlan({ project, env }: { project: string; env: ProjectPatch['env'] | null }) {
  const live = usePlan(['update', project], env === null ? null : { env }, (input, signal) =>
    planUpdate(project, input as ProjectPatch, signal),
  )
  return (
    <div className="rounded-lg border border-line bg-sunken p-3">
      <PlanView live={live} idle={texts.create.planIdle} hideErrors={['/env']} />
    </div>
  )
}

function VariableForm({ project, editing, onClose }: { project: ProjectView; editing: Editing; onClose: () => void }) {
  const query = useQuery(projectEnvQuery(project.id))
  const receivers = useReceivers(project)
  const [name, setName] = useState(editing.name ?? '')
  const [value, setValue] = useState(editing.value)
  const [secret, setSecret] = useState(editing.secret)
  const [runtimes, setRuntimes] = useState(editing.runtimes)
  const [tried, setTried] = useState(false)
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const errors = error === null ? undefined : problemFrom(error).errors
  const choosing = receivers.length > 1 || editing.runtimes !== null
  const nobody = runtimes !== null && runtimes.length === 0
  // The text of a secret is not here: nothing typed leaves it as it is.
  const change: VariableChange = {
    ...(editing.secret && value === '' ? {} : { value }),
    secret,
    ...(choosing ? { runtimes } : {}),
  }

  const submit = async () => {
    setTried(true)
    if (!isEnvName(name) || nobody) return
    setBusy(true)
    setError(null)
    try {
      await setVariable(project.id, name, change)
      await query.refetch()
      toastDone(t.set(name))
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
      {editing.name === null && (
        <TextField
          label={t.name}
          mono
          autoFocus
          autoCapitalize="none"
          spellCheck={false}
          value={name}
          onChange={(event) => setName(event.target.value.trim())}
          error={
            (tried || name.length > 0) && !isEnvName(name) && (tried || !/^[A-Za-z_]\w*$/.test(name))
              ? t.nameInvalid
              : null
          }
        />
      )}
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
          error={nobody && tried ? t.chooseReceiver : null}
        />
      )}
      <EnvPlan
        project={project.id}
        env={isEnvName(name) && !nobody ? (variablePatch(name, change).env ?? null) : null}
      />
      {error !== null && <ErrorNote error={error} hideErrors={['/value', `/env/${name}`]} />}
      <DialogActions>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button type="submit" look="primary" busy={busy}>
          {texts.common.save}
        </Button>
      </DialogActions>
    </form>
  )
}

interface Receiver {
  readonly name: string
  readonly label: string
}

/** The runtimes that the project uses. */
function useReceivers(project: ProjectView): readonly Receiver[] {
  const offered = useQuery(runtimesQuery(project.engine)).data?.runtimes ?? []
  return offered.filter(({ name }) => {
    const settings = project[name]
    return isObject(settings) && settings.enabled === true
  })
}

function Receivers({
  engine,
  options,
  value,
  onChange,
  error,
}: {
  engine: string
  options: readonly Receiver[]
  value: readonly string[] | null
  onChange: (value: readonly string[] | null) => void
  error: string | null
}) {
  const labels = useLabels(engine)
  // One that is switched off now stays a receiver until somebody takes it out.
  const names = [...new Set([...options.map(({ name }) => name), ...(value ?? [])])]
  return (
    <div className="flex flex-col gap-2">
      <Choices
        label={t.receivers}
        value={value === null ? 'all' : 'some'}
        onChange={(choice) => onChange(choice === 'all' ? null : names)}
        options={[
          { value: 'all', label: t.allReceivers },
          { value: 'some', label: t.someReceivers },
        ]}
      />
      {value !== null && (
        <fieldset className="flex flex-wrap gap-x-4 gap-y-1.5 pl-6">
          <legend className="sr-only">{t.someReceivers}</legend>
          {names.map((name) => (
            <Check
              key={name}
              label={labels[name] ?? name}
              checked={value.includes(name)}
              onChange={(checked) => onChange(names.filter((one) => (one === name ? checked : value.includes(one))))}
            />
          ))}
        </fieldset>
      )}
      {error && <p className="text-sm text-bad">{error}</p>}
    </div>
  )
}

function PasteForm({ project, onClose }: { project: string; onClose: () => void }) {
  const query = useQuery(projectEnvQuery(project))
  const [text, setText] = useState('')
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const { variables, ignored } = parseDotEnv(text)
  const env = Object.fromEntries(variables.map(({ name, value }) => [name, value]))
  const count = Object.keys(env).length

  const submit = async () => {
    setBusy(true)
    setError(null)
    try {
      await setVariables(project, env)
      await query.refetch()
      toastDone(t.many(count))
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
      <TextArea
        label={t.pasteField}
        mono
        rows={10}
        autoFocus
        value={text}
        onChange={(event) => setText(event.target.value)}
        help={
          text === ''
            ? undefined
            : `${t.pasteFound(count)}${ignored.length > 0 ? `; ${t.pasteIgnored(ignored.length)}` : ''}.`
        }
      />
      {count > 0 && <EnvPlan project={project} env={env} />}
      {error !== null && <ErrorNote error={error} />}
      <DialogActions>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button type="submit" look="primary" busy={busy} disabled={count === 0}>
          {t.pasteSubmit}
        </Button>
      </DialogActions>
    </form>
  )
}
