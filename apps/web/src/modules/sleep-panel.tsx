import type { ProjectView } from '@stackquay/contract'
import { Link } from '@tanstack/react-router'
import { Moon } from 'lucide-react'
import { useState } from 'react'
import { updateProject } from '../api/changes.ts'
import { problemFrom } from '../api/client.ts'
import { Button } from '../components/button.tsx'
import { ErrorNote } from '../components/error-state.tsx'
import { TextField } from '../components/field.tsx'
import { Form } from '../components/form.tsx'
import { Panel } from '../components/panel.tsx'
import { toastDone } from '../components/toast.tsx'
import { useNow } from '../components/use-now.ts'
import { errorsAt } from '../lib/field-errors.ts'
import { formatDateTime, formatRelative } from '../lib/format.ts'
import { inputsOfSleep, type SleepInputs, sleepPatch } from '../lib/sleep.ts'
import { timeZoneHere } from '../lib/usual-times.ts'
import { texts } from '../texts/index.ts'
import { useMay } from './use-may.ts'
import { useSubmit } from './use-submit.ts'

const t = texts.sleep

/** When the project sleeps by itself. */
export function SleepPanel({ project }: { project: ProjectView }) {
  const mayChange = useMay()('operate')
  const [inputs, setInputs] = useState<SleepInputs>(() => inputsOfSleep(project.sleep, timeZoneHere()))
  const { busy, error, clear, run } = useSubmit()
  const patch = sleepPatch(project.sleep, inputs)
  const errors = error === null ? undefined : problemFrom(error).errors
  const field = (name: keyof SleepInputs) => ({
    value: inputs[name],
    mono: true,
    onChange: (event: { target: { value: string } }) => {
      clear()
      setInputs({ ...inputs, [name]: event.target.value })
    },
    error: errorsAt(errors, `/sleep/${name}`),
  })
  const save = async () => {
    if (patch === undefined) return
    await run(async () => {
      await updateProject(project.id, { sleep: patch })
      toastDone(t.saved)
    })
  }
  return (
    <Panel id="sleep" title={t.title} detail={t.detail}>
      <Form onSubmit={save}>
        <fieldset disabled={!mayChange} className="grid min-w-0 grid-cols-1 gap-4 sm:grid-cols-2">
          <legend className="sr-only">{t.title}</legend>
          <TextField label={t.after} help={t.afterHelp} maxLength={10} className="sm:col-span-2" {...field('after')} />
          <TextField label={t.hours} help={t.hoursHelp} maxLength={200} {...field('hours')} />
          {inputs.hours.trim() !== '' && (
            <TextField label={t.timezone} help={t.timezoneHelp} maxLength={60} required {...field('timezone')} />
          )}
        </fieldset>
        {patch === null && <p className="text-ink-2">{t.never}</p>}
        {error !== null && <ErrorNote error={error} hideErrors={['/sleep']} />}
        {mayChange && (
          <div>
            <Button type="submit" look="primary" busy={busy} disabled={patch === undefined}>
              {t.save}
            </Button>
          </div>
        )}
      </Form>
    </Panel>
  )
}

/** That it sleeps, why, and what wakes it. */
export function AsleepNote({ project }: { project: ProjectView }) {
  const now = useNow()
  const { asleep } = project.status
  if (asleep === null) return null
  return (
    <section
      aria-label={texts.states.project.sleeping}
      className="flex gap-2.5 rounded-lg border border-line bg-raised px-3 py-2.5"
    >
      <Moon aria-hidden className="mt-0.5 size-4 shrink-0 text-ink-3" />
      <div className="min-w-0">
        <p className="font-medium break-words">{t.asleep[asleep.because](formatRelative(asleep.since, now))}</p>
        <p className="break-words text-ink-2">
          {t.wakes}
          {asleep.wakesAt !== null && ` ${t.wakesAt(formatDateTime(asleep.wakesAt))}`}
        </p>
        <Link
          to="/projects/$project/settings"
          params={{ project: project.slug }}
          hash="sleep"
          className="rounded text-accent-ink underline underline-offset-2"
        >
          {t.change}
        </Link>
      </div>
    </section>
  )
}
