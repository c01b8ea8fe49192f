import type { Acme, FieldError } from '@stackquay/contract'
import { useState } from 'react'
import { client } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { DialogActions } from '../../components/dialog.tsx'
import { Disclosure } from '../../components/disclosure.tsx'
import { ErrorNote } from '../../components/error-state.tsx'
import { Check, SelectField, TextArea, TextField } from '../../components/field.tsx'
import { Form } from '../../components/form.tsx'
import { type AcmeDraft, type Authority, authorities, draftOf, inputOf } from '../../lib/acme-form.ts'
import { errorsAt } from '../../lib/field-errors.ts'
import { fieldsOf, type JsonSchema } from '../../lib/settings-fields.ts'
import { SettingsForm } from '../../modules/settings-form.tsx'
import { useSubmit } from '../../modules/use-submit.ts'
import { texts } from '../../texts/index.ts'

const t = texts.acme

interface PartProps {
  draft: AcmeDraft
  set: (change: Partial<AcmeDraft>) => void
  errors: readonly FieldError[] | undefined
}

export function AcmeForm({ acme, onClose, onDone }: { acme: Acme; onClose: () => void; onDone: () => void }) {
  const [draft, setDraft] = useState(() => draftOf(acme.settings, acme.providers[0]?.name ?? ''))
  const { busy, error, problem, clear, run } = useSubmit()
  const set = (change: Partial<AcmeDraft>) => {
    clear()
    setDraft({ ...draft, ...change })
  }
  const submit = () =>
    run(async () => {
      await client.call('putAcme', { body: inputOf(draft) })
      onDone()
    })
  const part = { draft, set, errors: problem?.errors }
  return (
    <Form onSubmit={submit}>
      <AuthorityFields {...part} />
      <ProofFields {...part} providers={acme.providers} />
      <NameFields {...part} />
      <Disclosure title={t.moreSettings}>
        <MoreFields {...part} isKept={acme.settings?.externalAccount != null} />
      </Disclosure>
      <Check label={t.agree} checked={draft.agreed} onChange={(agreed) => set({ agreed })} />
      {problem !== null && <ErrorNote error={error} hideErrors={shownPointers} />}
      <DialogActions>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button type="submit" look="primary" busy={busy} disabled={!draft.agreed}>
          {t.submit}
        </Button>
      </DialogActions>
    </Form>
  )
}

const shownPointers = [
  '/directory',
  '/roots',
  '/email',
  '/challenge',
  '/dns',
  '/names',
  '/wildcard',
  '/resolvers',
  '/externalAccount',
]

function AuthorityFields({ draft, set, errors }: PartProps) {
  const isOther = draft.authority === 'other'
  return (
    <div className="grid items-start gap-x-6 gap-y-4 sm:grid-cols-2">
      <SelectField
        label={t.authority}
        help={t.authorityHelp}
        value={draft.authority}
        onChange={(event) => set({ authority: event.target.value as Authority })}
        error={isOther ? null : errorsAt(errors, '/directory')}
      >
        {[...authorities, 'other' as const].map((one) => (
          <option key={one} value={one}>
            {t.authorities[one]}
          </option>
        ))}
      </SelectField>
      <TextField
        label={t.email}
        help={t.emailHelp}
        type="email"
        optional
        value={draft.email}
        onChange={(event) => set({ email: event.target.value })}
        error={errorsAt(errors, '/email')}
      />
      {isOther && (
        <>
          <TextField
            label={t.address}
            type="url"
            required
            value={draft.address}
            onChange={(event) => set({ address: event.target.value })}
            error={errorsAt(errors, '/directory')}
          />
          <TextArea
            label={t.roots}
            help={t.rootsHelp}
            optional
            mono
            rows={3}
            value={draft.roots}
            onChange={(event) => set({ roots: event.target.value })}
            error={errorsAt(errors, '/roots')}
          />
        </>
      )}
    </div>
  )
}

function ProofFields({ draft, set, errors, providers }: PartProps & { providers: Acme['providers'] }) {
  const { challenge, provider, forwardedPorts } = draft
  const port = challenge === 'http-01' ? 80 : 443
  const schema = (providers.find(({ name }) => name === provider)?.settingsSchema ?? {}) as JsonSchema
  return (
    <div className="flex flex-col gap-4">
      <SelectField
        label={t.challenge}
        help={t.challengeHelps[challenge]}
        value={challenge}
        onChange={(event) => set({ challenge: event.target.value as AcmeDraft['challenge'] })}
        error={errorsAt(errors, '/challenge')}
      >
        {(['http-01', 'tls-alpn-01', 'dns-01'] as const).map((one) => (
          <option key={one} value={one}>
            {t.challenges[one]}
          </option>
        ))}
      </SelectField>
      {challenge === 'dns-01' ? (
        <>
          <SelectField
            label={t.provider}
            value={provider}
            onChange={(event) => set({ provider: event.target.value, settings: {} })}
            error={errorsAt(errors, '/dns/provider')}
          >
            {providers.map(({ name, label }) => (
              <option key={name} value={name}>
                {label}
              </option>
            ))}
          </SelectField>
          <SettingsForm
            fields={fieldsOf(schema)}
            value={{ ...defaultsOf(schema), ...draft.settings }}
            onChange={(settings) => set({ settings })}
            pointer="/dns/settings"
            within="dns."
            errors={errors}
          />
        </>
      ) : (
        <Check
          label={t.forwarded(port)}
          help={t.forwardedHelp}
          checked={forwardedPorts.includes(port)}
          onChange={(on) => set({ forwardedPorts: on ? [port] : [] })}
        />
      )}
    </div>
  )
}

function NameFields({ draft, set, errors }: PartProps) {
  return (
    <div className="flex flex-col gap-4">
      <SelectField
        label={t.extent}
        value={draft.extent}
        onChange={(event) => set({ extent: event.target.value as AcmeDraft['extent'] })}
      >
        <option value="all">{t.extents.all}</option>
        <option value="some">{t.extents.some}</option>
      </SelectField>
      {draft.extent === 'some' && (
        <TextArea
          label={t.names}
          help={t.namesHelp}
          required
          mono
          rows={3}
          value={draft.names}
          onChange={(event) => set({ names: event.target.value })}
          error={errorsAt(errors, '/names')}
        />
      )}
      {draft.challenge === 'dns-01' && (
        <Check
          label={t.wildcard}
          help={t.wildcardHelp}
          checked={draft.wildcard}
          onChange={(wildcard) => set({ wildcard })}
        />
      )}
      {errorsAt(errors, '/wildcard') !== null && (
        <p role="alert" className="text-sm text-bad">
          {errorsAt(errors, '/wildcard')}
        </p>
      )}
    </div>
  )
}

function MoreFields({ draft, set, errors, isKept }: PartProps & { isKept: boolean }) {
  return (
    <div className="grid items-start gap-x-6 gap-y-4 sm:grid-cols-2">
      <TextField
        label={t.keyId}
        help={t.keyIdHelp}
        optional
        value={draft.keyId}
        onChange={(event) => set({ keyId: event.target.value })}
        error={errorsAt(errors, '/externalAccount/keyId') ?? errorsOfBinding(errors)}
      />
      <TextField
        label={t.hmacKey}
        help={isKept ? t.hmacKeyKept : undefined}
        type="password"
        optional
        value={draft.hmacKey}
        onChange={(event) => set({ hmacKey: event.target.value })}
        error={errorsAt(errors, '/externalAccount/hmacKey')}
      />
      <TextField
        label={t.resolvers}
        help={t.resolversHelp}
        optional
        mono
        value={draft.resolvers}
        onChange={(event) => set({ resolvers: event.target.value })}
        error={errorsAt(errors, '/resolvers')}
      />
    </div>
  )
}

/** The binding as a whole: that one is needed. */
function errorsOfBinding(errors: readonly FieldError[] | undefined): string | null {
  return errors?.find(({ pointer }) => pointer === '/externalAccount')?.detail ?? null
}

function defaultsOf({ properties = {} }: JsonSchema): Record<string, unknown> {
  const given = Object.entries(properties).filter(([, { default: value }]) => value !== undefined && value !== null)
  return Object.fromEntries(given.map(([key, property]) => [key, property.default]))
}
