import type { ProjectView } from '@stackquay/contract'
import { Share2 } from 'lucide-react'
import { useState } from 'react'
import { type ShareProvider, startShare } from '../api/network.ts'
import { Button } from '../components/button.tsx'
import { cx } from '../components/class-names.ts'
import { ErrorNote } from '../components/error-state.tsx'
import { ExternalLink } from '../components/external-link.tsx'
import { SelectField, TextField } from '../components/field.tsx'
import { Form } from '../components/form.tsx'
import { Panel } from '../components/panel.tsx'
import { errorsAt } from '../lib/field-errors.ts'
import { texts } from '../texts/index.ts'
import { useSubmit } from './use-submit.ts'
import { WorkloadChoice } from './workload-choice.tsx'

const t = texts.network.share

const offeredMinutes = ['15', '60', '240', '480', '1440', '4320', '10080'] as const

const shown = ['/minutes', '/password', '/provider', '/workload']

export function ShareForm({ project, providers }: { project: ProjectView; providers: readonly ShareProvider[] }) {
  const [choice, setChoice] = useState<string>('60')
  const [minutes, setMinutes] = useState('90')
  const [password, setPassword] = useState('')
  const [provider, setProvider] = useState(() => providers.find(({ available }) => available)?.name ?? '')
  const [workload, setWorkload] = useState('')
  const { busy, error, problem, run } = useSubmit()
  const errors = problem?.errors

  const submit = async () => {
    await run(async () => {
      await startShare(project.id, {
        minutes: Number(choice === 'own' ? minutes : choice),
        ...(password === '' ? {} : { password }),
        ...(provider === '' ? {} : { provider }),
        ...(workload === '' ? {} : { workload }),
      })
    })
  }
  return (
    <Panel title={t.startTitle} detail={t.startDetail}>
      <Form className="flex flex-col gap-5" onSubmit={submit}>
        <div className="grid grid-cols-1 items-start gap-x-6 gap-y-4 sm:grid-cols-2">
          <DurationFields
            choice={choice}
            onChoice={setChoice}
            minutes={minutes}
            onMinutes={setMinutes}
            error={errorsAt(errors, '/minutes')}
          />
          <TextField
            label={texts.common.password}
            optional
            help={t.passwordHelp}
            type="password"
            autoComplete="new-password"
            minLength={6}
            maxLength={200}
            value={password}
            onChange={(event) => setPassword(event.target.value)}
            error={errorsAt(errors, '/password')}
          />
          <WorkloadChoice
            project={project}
            label={t.facts.shows}
            value={workload}
            onChange={setWorkload}
            error={errorsAt(errors, '/workload')}
          />
        </div>
        <ProviderChoice
          providers={providers}
          value={provider}
          onChange={setProvider}
          error={errorsAt(errors, '/provider')}
        />
        {error !== null && <ErrorNote error={error} hideErrors={shown} />}
        <div>
          <Button type="submit" icon={Share2} look="primary" busy={busy}>
            {t.start}
          </Button>
        </div>
      </Form>
    </Panel>
  )
}

interface DurationFieldsProps {
  choice: string
  onChoice: (choice: string) => void
  /** Of the choice `own`. */
  minutes: string
  onMinutes: (minutes: string) => void
  error: string | null
}

function DurationFields({ choice, onChoice, minutes, onMinutes, error }: DurationFieldsProps) {
  return (
    <div className="flex min-w-0 gap-3">
      <SelectField
        label={t.minutes}
        value={choice}
        onChange={(event) => onChoice(event.target.value)}
        error={choice === 'own' ? null : error}
        className="flex-1"
      >
        {offeredMinutes.map((value) => (
          <option key={value} value={value}>
            {t.spans[value]}
          </option>
        ))}
        <option value="own">{t.ownMinutes}</option>
      </SelectField>
      {choice === 'own' && (
        <TextField
          label={t.minutesNumber}
          type="number"
          required
          min={5}
          max={10_080}
          value={minutes}
          onChange={(event) => onMinutes(event.target.value)}
          error={error}
          className="w-28"
        />
      )}
    </div>
  )
}

/** Those that this machine lacks are shown with what they need. */
function ProviderChoice({
  providers,
  value,
  onChange,
  error,
}: {
  providers: readonly ShareProvider[]
  value: string
  onChange: (provider: string) => void
  error: string | null
}) {
  return (
    <fieldset className="min-w-0">
      <legend className="mb-1.5 text-sm font-medium">{t.provider}</legend>
      <div className="grid grid-cols-1 gap-2 lg:grid-cols-3">
        {providers.map(({ name, label, summary, available, reason, install }) => (
          <div
            key={name}
            className={cx(
              'min-w-0 rounded-lg border p-3',
              name === value ? 'border-accent-ink bg-accent-soft' : 'border-line',
            )}
          >
            <label className="flex items-start gap-2">
              <input
                type="radio"
                name="share-provider"
                checked={name === value}
                disabled={!available}
                onChange={() => onChange(name)}
                className="mt-1 size-4 shrink-0 accent-(--accent)"
              />
              <span className="min-w-0">
                <span className="block font-medium">{label}</span>
                <span className="block text-sm text-ink-2">{summary}</span>
              </span>
            </label>
            {!available && (
              <div className="mt-2 ml-6 min-w-0 text-sm text-ink-2">
                <p className="break-words">{reason ?? t.unavailable}</p>
                {install !== null &&
                  (/^https?:/.test(install) ? (
                    <ExternalLink href={install}>{t.howToInstall}</ExternalLink>
                  ) : (
                    <p className="break-words">{install}</p>
                  ))}
              </div>
            )}
          </div>
        ))}
      </div>
      {error !== null && <p className="mt-1 text-sm text-bad">{error}</p>}
    </fieldset>
  )
}
