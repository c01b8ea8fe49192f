import type { OidcProvider, OidcSettings, Problem } from '@stackquay/contract'
import { useState } from 'react'
import { client } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { ErrorNote, ProblemNote } from '../../components/error-state.tsx'
import { SelectField, Switch, TextArea, TextField } from '../../components/field.tsx'
import { Form } from '../../components/form.tsx'
import { Panel } from '../../components/panel.tsx'
import { toastDone } from '../../components/toast.tsx'
import { errorsAt } from '../../lib/field-errors.ts'
import { type OidcForm, oidcBodyOf, oidcFormOf } from '../../lib/oidc-form.ts'
import { useSubmit } from '../../modules/use-submit.ts'
import { texts } from '../../texts/index.ts'
import { ProviderTest } from './provider-test.tsx'

const t = texts.signIn

/** Each has a field that shows what is wrong with it. */
const shown = [
  ...['/label', '/issuer', '/clientId', '/clientSecret', '/scopes', '/password'],
  ...['/roles/claim', '/roles/admin', '/roles/operate', '/roles/read', '/refreshMinutes', '/graceMinutes'],
]

interface ProviderFormProps {
  provider: OidcProvider | null
  onSaved: (settings: OidcSettings) => Promise<void>
}

export function ProviderForm({ provider, onSaved }: ProviderFormProps) {
  const [form, setForm] = useState(() => oidcFormOf(provider))
  const [password, setPassword] = useState('')
  const { busy, error, problem, clear, run } = useSubmit()
  const change = (part: Partial<OidcForm>) => {
    setForm({ ...form, ...part })
    clear()
  }
  const save = async () => {
    const saved = await client.call('putOidc', { body: oidcBodyOf(form, password) })
    setPassword('')
    toastDone(t.saved)
    await onSaved(saved)
  }
  const parts = { form, errors: problem?.errors, change }
  return (
    <Form onSubmit={() => run(save)}>
      <Panel title={t.provider} detail={t.providerDetail}>
        <ProviderFields {...parts} hasSecret={provider?.hasSecret === true} />
      </Panel>
      <ProviderTest issuer={form.issuer.trim()} />
      <Panel title={t.roles} detail={t.rolesDetail}>
        <RoleFields {...parts} />
      </Panel>
      <Panel title={t.sessions} detail={t.sessionsDetail}>
        <SessionFields {...parts} />
      </Panel>
      <Panel>
        <div className="flex flex-col gap-4">
          <TextField
            label={texts.password.current}
            help={t.passwordHelp}
            type="password"
            required
            autoComplete="current-password"
            className="max-w-sm"
            value={password}
            onChange={(event) => setPassword(event.target.value)}
            error={errorsAt(problem?.errors, '/password')}
          />
          {problem !== null && problem.errors !== undefined ? (
            <ProblemNote problem={problem} hideErrors={shown} />
          ) : (
            error !== null && <ErrorNote error={error} />
          )}
          <Button type="submit" look="primary" busy={busy} className="self-start">
            {texts.common.save}
          </Button>
        </div>
      </Panel>
    </Form>
  )
}

interface FieldsProps {
  form: OidcForm
  errors: Problem['errors']
  change: (part: Partial<OidcForm>) => void
}

const grid = 'grid grid-cols-1 items-start gap-4 sm:grid-cols-2'
const plain = { autoCapitalize: 'none', spellCheck: false, mono: true } as const

function ProviderFields({ form, errors, change, hasSecret }: FieldsProps & { hasSecret: boolean }) {
  return (
    <div className={grid}>
      <TextField
        label={t.label}
        help={t.labelHelp}
        required
        maxLength={60}
        value={form.label}
        onChange={(event) => change({ label: event.target.value })}
        error={errorsAt(errors, '/label')}
      />
      <TextField
        {...plain}
        label={t.issuer}
        help={t.issuerHelp}
        required
        inputMode="url"
        value={form.issuer}
        onChange={(event) => change({ issuer: event.target.value })}
        error={errorsAt(errors, '/issuer')}
      />
      <TextField
        {...plain}
        label={t.clientId}
        required
        value={form.clientId}
        onChange={(event) => change({ clientId: event.target.value })}
        error={errorsAt(errors, '/clientId')}
      />
      <TextField
        label={t.clientSecret}
        type="password"
        autoComplete="new-password"
        optional={!hasSecret}
        help={hasSecret ? t.keepSecret : t.publicClient}
        value={form.clientSecret}
        onChange={(event) => change({ clientSecret: event.target.value })}
        error={errorsAt(errors, '/clientSecret')}
      />
      <TextField
        {...plain}
        className="sm:col-span-2"
        label={t.scopes}
        help={t.scopesHelp}
        value={form.scopes}
        onChange={(event) => change({ scopes: event.target.value })}
        error={errorsAt(errors, '/scopes')}
      />
    </div>
  )
}

function RoleFields({ form, errors, change }: FieldsProps) {
  const hasClaim = form.claim.trim() !== ''
  return (
    <div className="flex flex-col gap-4">
      <div className={grid}>
        <TextField
          {...plain}
          label={t.claim}
          optional
          help={t.claimHelp}
          value={form.claim}
          onChange={(event) => change({ claim: event.target.value })}
          error={errorsAt(errors, '/roles/claim')}
        />
        <SelectField
          label={t.defaultRole}
          help={t.defaultRoleHelp}
          value={form.defaultRole}
          onChange={(event) => change({ defaultRole: event.target.value as OidcForm['defaultRole'] })}
        >
          <option value="">{t.refused}</option>
          {(['read', 'operate', 'admin'] as const).map((role) => (
            <option key={role} value={role}>
              {texts.account.roles[role]}
            </option>
          ))}
        </SelectField>
      </div>
      {hasClaim && (
        <div className="grid grid-cols-1 items-start gap-4 sm:grid-cols-3">
          {(['admin', 'operate', 'read'] as const).map((role) => (
            <TextArea
              key={role}
              mono
              rows={3}
              label={t.valuesOf[role]}
              help={t.valuesHelp}
              value={form[role]}
              onChange={(event) => change({ [role]: event.target.value })}
              error={errorsAt(errors, `/roles/${role}`)}
            />
          ))}
        </div>
      )}
      <Switch
        label={t.createPeople}
        help={t.createPeopleHelp}
        checked={form.createPeople}
        onChange={(createPeople) => change({ createPeople })}
      />
    </div>
  )
}

function SessionFields({ form, errors, change }: FieldsProps) {
  return (
    <div className={grid}>
      {(['refreshMinutes', 'graceMinutes'] as const).map((name) => (
        <TextField
          key={name}
          label={t[name]}
          help={t.minutesHelp[name]}
          type="number"
          required
          min={1}
          max={name === 'refreshMinutes' ? 1440 : 10_080}
          value={form[name]}
          onChange={(event) => change({ [name]: event.target.value })}
          error={errorsAt(errors, `/${name}`)}
        />
      ))}
    </div>
  )
}
