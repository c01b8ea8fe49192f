import type { Problem, ProxyRules } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { ArrowRight, TriangleAlert } from 'lucide-react'
import { sessionsQuery } from '../api/queries.ts'
import { cx } from '../components/class-names.ts'
import { Switch, TextArea, TextField } from '../components/field.tsx'
import { Panel } from '../components/panel.tsx'
import { isCovered } from '../lib/address-list.ts'
import { errorsAt } from '../lib/field-errors.ts'
import { addressesOf, type RulesFormState, ruleOrder, stepsOn } from '../lib/rules-form.ts'
import { texts } from '../texts/index.ts'

const t = texts.network.rules

interface RulesPartProps {
  form: RulesFormState
  errors: Problem['errors']
  onChange: (part: Partial<RulesFormState>, touched: string) => void
}

/** What a request meets, one after the other; those that are in use stand out. */
export function RulesOrder({ form }: { form: RulesFormState }) {
  const on = stepsOn(form)
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1 px-1 text-sm">
      <p className="text-ink-2">{t.order}</p>
      <ol className="flex flex-wrap items-center gap-x-1.5 gap-y-1">
        {ruleOrder.map((step, index) => (
          <li key={step} className="inline-flex items-center gap-1.5">
            {index > 0 && <ArrowRight aria-hidden className="size-3.5 text-ink-3" />}
            <span
              className={cx(
                'rounded-md border px-1.5',
                on.includes(step)
                  ? 'border-accent-ink/40 bg-accent-soft font-medium text-accent-ink'
                  : 'border-transparent px-0.5 text-ink-2',
              )}
            >
              {t.steps[step]}
              {on.includes(step) && <span className="sr-only"> ({t.inUse})</span>}
            </span>
          </li>
        ))}
      </ol>
    </div>
  )
}

export function RulesSignIn({ form, onChange }: RulesPartProps) {
  return (
    <Panel title={t.signIn} detail={t.signInDetail}>
      <Switch
        label={t.askSignIn}
        checked={form.signIn}
        onChange={(checked) => onChange({ signIn: checked }, '/signIn')}
      />
    </Panel>
  )
}

export function RulesAddresses({ form, errors, onChange }: RulesPartProps) {
  const own = useOwnAddress()
  const addresses = addressesOf(form)
  const shutOut = own !== null && addresses.length > 0 && isCovered(addresses, own) === false
  return (
    <Panel title={t.addresses} detail={t.addressesDetail}>
      <div className="flex flex-col gap-3">
        <TextArea
          label={t.allowIps}
          help={t.allowIpsHelp}
          mono
          rows={Math.min(12, Math.max(4, form.allowIps.split('\n').length + 1))}
          autoCapitalize="none"
          placeholder={t.everybody}
          value={form.allowIps}
          onChange={(event) => onChange({ allowIps: event.target.value }, '/allowIps')}
          error={errorsAt(errors, '/allowIps')}
        />
        {shutOut && (
          <p role="status" className="flex gap-2 rounded-md bg-warn-soft px-3 py-2 text-sm text-ink">
            <TriangleAlert aria-hidden className="mt-0.5 size-4 shrink-0 text-warn" />
            <span className="min-w-0 break-words">{t.shutOut(own)}</span>
          </p>
        )}
      </div>
    </Panel>
  )
}

/** As the service sees this browser; the proxy most often sees the same. */
function useOwnAddress(): string | null {
  return useQuery(sessionsQuery).data?.find(({ current }) => current)?.ip ?? null
}

export function RulesPassword({
  form,
  stored,
  errors,
  onChange,
}: RulesPartProps & { stored: ProxyRules['basicAuth'] }) {
  const { basicAuth } = form
  const isKept = basicAuth !== null && stored !== null && stored.username === basicAuth.username
  return (
    <Panel title={t.password} detail={t.passwordDetail}>
      <div className="flex flex-col gap-4">
        <Switch
          label={t.askPassword}
          checked={basicAuth !== null}
          onChange={(checked) =>
            onChange({ basicAuth: checked ? { username: stored?.username ?? '', password: '' } : null }, '/basicAuth')
          }
        />
        {basicAuth !== null && (
          <div className="grid grid-cols-1 items-start gap-4 sm:grid-cols-2">
            <TextField
              label={t.username}
              required
              maxLength={100}
              autoCapitalize="none"
              spellCheck={false}
              value={basicAuth.username}
              onChange={(event) =>
                onChange({ basicAuth: { ...basicAuth, username: event.target.value } }, '/basicAuth')
              }
              error={errorsAt(errors, '/basicAuth/username') ?? ownErrors(errors, '/basicAuth')}
            />
            <TextField
              label={texts.common.password}
              type="password"
              autoComplete="new-password"
              maxLength={500}
              required={!isKept}
              placeholder={isKept ? t.asItIs : undefined}
              help={isKept ? t.keepPassword : undefined}
              value={basicAuth.password}
              onChange={(event) =>
                onChange({ basicAuth: { ...basicAuth, password: event.target.value } }, '/basicAuth/password')
              }
              error={errorsAt(errors, '/basicAuth/password')}
            />
          </div>
        )}
      </div>
    </Panel>
  )
}

/** What is said of a place itself, not of the fields in it. */
export function ownErrors(errors: Problem['errors'], pointer: string): string | null {
  return (
    errors
      ?.filter((error) => error.pointer === pointer)
      .map((error) => error.detail)
      .join(' ') || null
  )
}
