import type { Problem } from '@stackquay/contract'
import { Switch, TextArea, TextField } from '../components/field.tsx'
import { Panel } from '../components/panel.tsx'
import { errorsAt } from '../lib/field-errors.ts'
import { emptyMaintenance, type MaintenanceFormState } from '../lib/rules-form.ts'
import { texts } from '../texts/index.ts'
import { ownErrors } from './rules-access.tsx'

const t = texts.network.rules.maintenance

interface RulesMaintenanceProps {
  maintenance: MaintenanceFormState | null
  errors: Problem['errors']
  onChange: (maintenance: MaintenanceFormState, touched: string) => void
}

/** 503 in the place of the project, for all but those who work on it. */
export function RulesMaintenance({ maintenance, errors, onChange }: RulesMaintenanceProps) {
  const form = maintenance ?? emptyMaintenance
  return (
    <Panel title={t.title} detail={t.detail}>
      <div className="flex flex-col gap-4">
        <Switch
          label={t.on}
          checked={form.enabled}
          onChange={(enabled) => onChange({ ...form, enabled }, '/maintenance')}
          error={ownErrors(errors, '/maintenance')}
        />
        {form.enabled && <MaintenanceFields form={form} errors={errors} onChange={onChange} />}
      </div>
    </Panel>
  )
}

function MaintenanceFields({
  form,
  errors,
  onChange,
}: Omit<RulesMaintenanceProps, 'maintenance'> & { form: MaintenanceFormState }) {
  return (
    <div className="grid grid-cols-1 items-start gap-x-6 gap-y-4 lg:grid-cols-2">
      <TextArea
        label={t.allowIps}
        help={t.allowIpsHelp}
        mono
        rows={4}
        autoCapitalize="none"
        value={form.allowIps}
        onChange={(event) => onChange({ ...form, allowIps: event.target.value }, '/maintenance/allowIps')}
        error={errorsAt(errors, '/maintenance/allowIps')}
      />
      <TextArea
        label={t.message}
        help={t.messageHelp}
        rows={4}
        spellCheck
        maxLength={2000}
        value={form.message}
        onChange={(event) => onChange({ ...form, message: event.target.value }, '/maintenance/message')}
        error={errorsAt(errors, '/maintenance/message')}
      />
      <TextField
        label={t.retryAfter}
        help={t.retryAfterHelp}
        type="number"
        inputMode="numeric"
        min={1}
        max={10_080}
        step="any"
        placeholder="10"
        value={form.retryAfter}
        onChange={(event) => onChange({ ...form, retryAfter: event.target.value }, '/maintenance/retryAfterSeconds')}
        error={errorsAt(errors, '/maintenance/retryAfterSeconds')}
      />
      <Switch
        label={t.page}
        help={t.pageHelp}
        checked={form.page}
        onChange={(page) => onChange({ ...form, page }, '/maintenance/page')}
        error={errorsAt(errors, '/maintenance/page')}
      />
    </div>
  )
}
