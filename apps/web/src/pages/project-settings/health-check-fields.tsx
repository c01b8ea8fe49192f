import type { FieldError, HealthCheckTry } from '@stackquay/contract'
import { CircleCheck, CircleX, Play } from 'lucide-react'
import { useState } from 'react'
import { tryHealthCheck } from '../../api/health.ts'
import { Button } from '../../components/button.tsx'
import { ErrorNote } from '../../components/error-state.tsx'
import { Switch, TextField } from '../../components/field.tsx'
import { errorsAt } from '../../lib/field-errors.ts'
import { checkOf, type HealthForm } from '../../lib/health-form.ts'
import { useSubmit } from '../../modules/use-submit.ts'
import { texts } from '../../texts/index.ts'

const t = texts.settings

interface HealthCheckFieldsProps {
  project: string
  form: HealthForm
  onChange: (form: HealthForm) => void
  errors: readonly FieldError[] | undefined
}

export function HealthCheckFields({ project, form, onChange, errors }: HealthCheckFieldsProps) {
  const field = (name: Exclude<keyof HealthForm, 'on'>, pointer: string) => ({
    value: form[name],
    onChange: (event: { target: { value: string } }) => onChange({ ...form, [name]: event.target.value }),
    error: errorsAt(errors, `/healthCheck/${pointer}`),
  })
  const number = { type: 'number', inputMode: 'numeric' } as const
  return (
    <fieldset className="flex min-w-0 flex-col gap-3 rounded-lg border border-line p-4">
      <legend className="-ml-1 px-1 text-sm font-medium">{t.healthCheck}</legend>
      <Switch
        label={t.healthCheckOn}
        help={t.healthCheckHelp}
        checked={form.on}
        onChange={(on) => onChange({ ...form, on })}
      />
      {form.on && (
        <>
          <div className="grid grid-cols-1 items-start gap-4 sm:grid-cols-2">
            <TextField label={t.path} mono required {...field('path', 'path')} />
            <TextField
              label={t.healthStatus}
              help={t.healthStatusHelp}
              mono
              placeholder="200-399"
              maxLength={200}
              {...field('status', 'status')}
            />
            <TextField
              label={t.healthInterval}
              help={t.healthIntervalHelp}
              {...number}
              min={5}
              max={3600}
              placeholder="15"
              {...field('interval', 'intervalSeconds')}
            />
            <TextField
              label={t.healthFailures}
              help={t.healthFailuresHelp}
              {...number}
              min={1}
              max={20}
              placeholder="3"
              {...field('failures', 'failures')}
            />
            <TextField
              label={t.timeout}
              {...number}
              required
              min={1}
              max={600}
              {...field('timeout', 'timeoutSeconds')}
            />
          </div>
          <TryCheck project={project} form={form} />
        </>
      )}
    </fieldset>
  )
}

/** One check with what the form says, before anything is saved. */
function TryCheck({ project, form }: Pick<HealthCheckFieldsProps, 'project' | 'form'>) {
  const { busy, error, run } = useSubmit()
  const [tried, setTried] = useState<HealthCheckTry | null>(null)
  const tryNow = () =>
    run(async () => {
      setTried(null)
      setTried(await tryHealthCheck(project, checkOf(form)))
    })
  return (
    <div className="flex min-w-0 flex-col gap-3">
      <div>
        <Button icon={Play} busy={busy} onClick={() => void tryNow()}>
          {t.healthTry}
        </Button>
      </div>
      {error !== null && <ErrorNote error={error} />}
      <div role="status">{tried !== null && <Tried tried={tried} />}</div>
    </div>
  )
}

function Tried({ tried: { ok, status, milliseconds, reason, location, text } }: { tried: HealthCheckTry }) {
  const Icon = ok ? CircleCheck : CircleX
  return (
    <div className="flex min-w-0 flex-col gap-2">
      <p className="flex items-start gap-2">
        <Icon aria-hidden className={`mt-0.5 size-4 shrink-0 ${ok ? 'text-ok' : 'text-bad'}`} />
        <span className="min-w-0 break-words">
          {ok && status !== null ? t.healthPassed(status, milliseconds) : (reason ?? t.healthFailed)}
        </span>
      </p>
      {location !== null && <p className="break-all text-sm text-ink-2">{t.healthLeadsTo(location)}</p>}
      {text !== null && text !== '' && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
        <pre tabIndex={0} className="scroll-thin max-h-40 overflow-auto rounded-md bg-sunken p-2 text-sm">
          {text}
        </pre>
      )}
    </div>
  )
}
