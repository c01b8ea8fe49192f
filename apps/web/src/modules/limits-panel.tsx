import type { ProjectView } from '@stackquay/contract'
import { Gauge } from 'lucide-react'
import { useState } from 'react'
import { planUpdate, updateProject } from '../api/changes.ts'
import { problemFrom } from '../api/client.ts'
import { Button } from '../components/button.tsx'
import { ErrorNote } from '../components/error-state.tsx'
import { Check, SelectField, TextField } from '../components/field.tsx'
import { Form } from '../components/form.tsx'
import { Panel } from '../components/panel.tsx'
import { toastDone } from '../components/toast.tsx'
import { errorsAt } from '../lib/field-errors.ts'
import {
  badFields,
  emptyLimits,
  inputsOfLimits,
  type LimitField,
  type LimitInputs,
  type LimitsInputs,
  limitsPatch,
  type MemoryUnit,
  memoryUnits,
} from '../lib/limits.ts'
import { texts } from '../texts/index.ts'
import { engineName } from './engine-badge.tsx'
import { PlanView } from './plan-view.tsx'
import { engineReason } from './project-actions.ts'
import { useMay } from './use-may.ts'
import { usePlan } from './use-plan.ts'
import { useSubmit } from './use-submit.ts'

const t = texts.limits

type Errors = ReturnType<typeof problemFrom>['errors']

/** What the workloads may use at most; where no limits can be set, why not. */
export function LimitsPanel({ project }: { project: ProjectView }) {
  if (project.limitsUnavailable === null)
    return <LimitsForm key={`${project.id}${project.generation}`} project={project} />
  return (
    <Panel id="limits" title={t.title}>
      <div className="flex gap-2.5 text-ink-2">
        <Gauge aria-hidden className="mt-0.5 size-4 shrink-0 text-ink-3" />
        <div className="min-w-0">
          <p className="font-medium text-ink">{t.impossible(engineName(project.engine))}</p>
          <p className="break-words">{project.limitsUnavailable}</p>
        </div>
      </div>
    </Panel>
  )
}

function LimitsForm({ project }: { project: ProjectView }) {
  const mayChange = useMay()('operate')
  const reason = engineReason(project)
  const [inputs, setInputs] = useState<LimitsInputs>(() => inputsOfLimits(project.limits))
  const { busy, error, clear, run } = useSubmit()
  const patch = limitsPatch(project.limits, inputs)
  const bad = [inputs, ...Object.values(inputs.workloads)].some((one) => badFields(one).length > 0)
  const live = usePlan(['update', project.id], patch === null || bad ? null : { limits: patch }, (input, signal) =>
    planUpdate(project.id, input, signal),
  )
  const errors = error !== null ? problemFrom(error).errors : live.error ? problemFrom(live.error).errors : undefined
  const change = (next: LimitsInputs) => {
    clear()
    setInputs(next)
  }
  const save = async () => {
    if (patch === null) return
    await run(async () => {
      const answer = await updateProject(project.id, { limits: patch })
      toastDone(answer.operation === null ? t.saved : t.applied)
    })
  }
  return (
    <Panel id="limits" title={t.title} detail={t.detail}>
      <Form onSubmit={save}>
        <fieldset disabled={!mayChange || reason !== null} className="flex min-w-0 flex-col gap-4">
          <legend className="sr-only">{t.title}</legend>
          <LimitFields
            value={inputs}
            onChange={(own) => change({ ...own, workloads: inputs.workloads })}
            errors={errors}
            pointer="/limits"
          />
          <Workloads project={project} inputs={inputs} onChange={change} errors={errors} />
        </fieldset>
        {patch !== null && !bad && (
          <div className="rounded-lg border border-line bg-sunken p-3">
            <PlanView live={live} idle="" hideErrors={['/limits']} />
          </div>
        )}
        {error !== null && <ErrorNote error={error} hideErrors={['/limits']} />}
        {mayChange && (
          <div>
            <Button type="submit" look="primary" busy={busy} disabled={patch === null || bad} reason={reason}>
              {t.save}
            </Button>
          </div>
        )}
      </Form>
    </Panel>
  )
}

interface WorkloadsProps {
  project: ProjectView
  inputs: LimitsInputs
  onChange: (inputs: LimitsInputs) => void
  errors: Errors
}

function Workloads({ project, inputs, onChange, errors }: WorkloadsProps) {
  const titles = new Map(project.status.workloads.map(({ name, title }) => [name, title]))
  const names = [...new Set([...titles.keys(), ...Object.keys(project.limits?.workloads ?? {})])]
  if (names.length === 0) return null
  return (
    <section aria-label={t.ownTitle} className="rounded-lg border border-line">
      <div className="border-b border-line px-4 py-2.5">
        <h3 className="text-sm font-medium">{t.ownTitle}</h3>
        <p className="text-sm text-ink-3">{t.ownHelp}</p>
      </div>
      <ul className="divide-y divide-line">
        {names.map((name) => {
          const title = titles.get(name) ?? name
          const own = inputs.workloads[name]
          const { [name]: _, ...others } = inputs.workloads
          return (
            <li key={name} className="flex flex-col gap-3 px-4 py-3">
              <Check
                label={t.own(title)}
                help={titles.has(name) ? undefined : t.gone}
                checked={own !== undefined}
                onChange={(checked) =>
                  onChange({ ...inputs, workloads: checked ? { ...others, [name]: emptyLimits } : others })
                }
              />
              {own !== undefined && (
                <LimitFields
                  of={title}
                  above={inputs}
                  value={own}
                  onChange={(next) => onChange({ ...inputs, workloads: { ...inputs.workloads, [name]: next } })}
                  errors={errors}
                  pointer={`/limits/workloads/${name}`}
                />
              )}
            </li>
          )
        })}
      </ul>
    </section>
  )
}

interface LimitFieldsProps {
  /** The workload; without it they are the project's. */
  of?: string
  /** The project's, which hold where a workload says nothing. */
  above?: LimitInputs
  value: LimitInputs
  onChange: (value: LimitInputs) => void
  errors: Errors
  pointer: string
}

function LimitFields({ of, above, value, onChange, errors, pointer }: LimitFieldsProps) {
  const bad = badFields(value)
  const errorOf = (field: LimitField, at: string) =>
    bad.includes(field) ? t.bad[field] : errorsAt(errors, `${pointer}/${at}`)
  const label = (what: string) => (of === undefined ? what : <NamedFor what={what} of={of} />)
  const inherited = (text: string | null) => (text === null ? t.noLimit : t.asProject(text))
  return (
    <div className="grid grid-cols-1 gap-4 sm:grid-cols-3">
      <TextField
        label={label(t.cpus)}
        help={of === undefined ? t.cpusHelp : undefined}
        inputMode="decimal"
        placeholder={inherited(above === undefined || above.cpus === '' ? null : above.cpus)}
        value={value.cpus}
        onChange={(event) => onChange({ ...value, cpus: event.target.value })}
        error={errorOf('cpus', 'cpus')}
      />
      <TextField
        label={label(t.memory)}
        help={of === undefined ? t.memoryHelp : undefined}
        inputMode="decimal"
        placeholder={inherited(above === undefined || above.memory === '' ? null : `${above.memory} ${above.unit}`)}
        value={value.memory}
        onChange={(event) => onChange({ ...value, memory: event.target.value })}
        error={errorOf('memory', 'memoryBytes')}
        action={
          <SelectField
            label={of === undefined ? t.unit : t.of(t.unit, of)}
            hideLabel
            value={value.unit}
            onChange={(event) => onChange({ ...value, unit: event.target.value as MemoryUnit })}
            className="w-24 shrink-0"
          >
            {Object.keys(memoryUnits).map((unit) => (
              <option key={unit}>{unit}</option>
            ))}
          </SelectField>
        }
      />
      <TextField
        label={label(t.pids)}
        help={of === undefined ? t.pidsHelp : undefined}
        inputMode="numeric"
        placeholder={above === undefined || above.pids === '' ? t.pidsDefault : t.asProject(above.pids)}
        value={value.pids}
        onChange={(event) => onChange({ ...value, pids: event.target.value })}
        error={errorOf('pids', 'pids')}
      />
    </div>
  )
}

/** Seen as `CPU`, heard as `CPU of Node.js`: the same three fields stand there for each workload. */
function NamedFor({ what, of }: { what: string; of: string }) {
  return (
    <>
      <span aria-hidden>{what}</span>
      <span className="sr-only">{t.of(what, of)}</span>
    </>
  )
}
