import type { Problem } from '@stackquay/contract'
import { Switch, TextArea, TextField } from '../components/field.tsx'
import { Panel } from '../components/panel.tsx'
import { errorsAt } from '../lib/field-errors.ts'
import { type CorsFormState, emptyCors } from '../lib/rules-form.ts'
import { texts } from '../texts/index.ts'
import { ownErrors } from './rules-access.tsx'

const t = texts.network.rules.cors

interface RulesCorsProps {
  cors: CorsFormState | null
  errors: Problem['errors']
  onChange: (cors: CorsFormState | null, touched: string) => void
}

/** Which pages elsewhere may call the application out of a browser. */
export function RulesCors({ cors, errors, onChange }: RulesCorsProps) {
  const whole = ownErrors(errors, '/cors')
  return (
    <Panel title={t.title} detail={t.detail}>
      <div className="flex flex-col gap-4">
        <Switch
          label={t.on}
          checked={cors !== null}
          onChange={(checked) => onChange(checked ? emptyCors : null, '/cors')}
          error={whole}
        />
        {cors !== null && <CorsFields cors={cors} errors={errors} onChange={onChange} />}
      </div>
    </Panel>
  )
}

function CorsFields({ cors, errors, onChange }: RulesCorsProps & { cors: CorsFormState }) {
  const words = (name: 'methods' | 'headers' | 'exposeHeaders') => ({
    label: t[name],
    mono: true,
    spellCheck: false,
    autoCapitalize: 'none',
    value: cors[name],
    onChange: (event: { target: { value: string } }) =>
      onChange({ ...cors, [name]: event.target.value }, `/cors/${name}`),
    error: errorsAt(errors, `/cors/${name}`),
  })
  return (
    <div className="grid grid-cols-1 items-start gap-x-6 gap-y-4 lg:grid-cols-2">
      <TextArea
        label={t.origins}
        help={t.originsHelp}
        mono
        required
        rows={Math.min(8, Math.max(3, cors.origins.split('\n').length + 1))}
        autoCapitalize="none"
        placeholder="https://app.example.org"
        value={cors.origins}
        onChange={(event) => onChange({ ...cors, origins: event.target.value }, '/cors/origins')}
        error={errorsAt(errors, '/cors/origins')}
      />
      <div className="flex flex-col gap-4">
        <TextField {...words('methods')} help={t.listHelp} />
        <Switch
          label={t.credentials}
          help={t.credentialsHelp}
          checked={cors.credentials}
          onChange={(credentials) => onChange({ ...cors, credentials }, '/cors/credentials')}
          error={errorsAt(errors, '/cors/credentials')}
        />
      </div>
      <TextField {...words('headers')} help={t.headersHelp} placeholder={t.anyHeader} />
      <TextField {...words('exposeHeaders')} help={t.exposeHelp} />
      <TextField
        label={t.maxAge}
        type="number"
        required
        min={0}
        max={86_400}
        value={cors.maxAgeSeconds}
        onChange={(event) => onChange({ ...cors, maxAgeSeconds: event.target.value }, '/cors/maxAgeSeconds')}
        error={errorsAt(errors, '/cors/maxAgeSeconds')}
        className="max-w-60"
      />
    </div>
  )
}
