import type { Problem } from '@stackquay/contract'
import { ArrowDown, ArrowUp, Plus, Trash2 } from 'lucide-react'
import { Button, IconButton } from '../components/button.tsx'
import { cx } from '../components/class-names.ts'
import { SelectField, TextField } from '../components/field.tsx'
import { Panel } from '../components/panel.tsx'
import { errorsAt } from '../lib/field-errors.ts'
import { moved, type RedirectRow, redirectStatuses } from '../lib/rules-form.ts'
import { texts } from '../texts/index.ts'
import { ownErrors } from './rules-access.tsx'

const t = texts.network.rules

interface RulesRedirectsProps {
  redirects: readonly RedirectRow[]
  errors: Problem['errors']
  onChange: (redirects: readonly RedirectRow[], touched: string) => void
}

/** The first match wins, so people choose the order. */
export function RulesRedirects({ redirects, errors, onChange }: RulesRedirectsProps) {
  const add = () => {
    const key = crypto.randomUUID()
    onChange([...redirects, { key, from: '', to: '', status: 308, host: '' }], `/redirects/${redirects.length}`)
  }
  const listError = ownErrors(errors, '/redirects')
  return (
    <Panel
      title={t.redirects}
      detail={t.redirectsDetail}
      actions={
        <Button icon={Plus} disabled={redirects.length >= 500} onClick={add}>
          {t.addRedirect}
        </Button>
      }
    >
      {listError !== null && <p className="mb-2 text-sm text-bad">{listError}</p>}
      {redirects.length === 0 ? (
        <p className="text-ink-3">{t.noRedirects}</p>
      ) : (
        <ol className="flex flex-col gap-3 max-lg:gap-4">
          {redirects.map((redirect, index) => (
            <li
              key={redirect.key}
              className={
                index === 0 ? undefined : 'max-lg:border-t max-lg:border-line max-lg:pt-4 lg:[&_label]:sr-only'
              }
            >
              <RedirectFields
                redirect={redirect}
                number={index + 1}
                errors={errors}
                pointer={`/redirects/${index}`}
                onChange={(next, touched) => onChange(redirects.with(index, next), touched)}
                onRemove={() => onChange(redirects.toSpliced(index, 1), '/redirects')}
                onUp={index === 0 ? null : () => onChange(moved(redirects, index, -1), '/redirects')}
                onDown={
                  index === redirects.length - 1 ? null : () => onChange(moved(redirects, index, 1), '/redirects')
                }
              />
            </li>
          ))}
        </ol>
      )}
    </Panel>
  )
}

function RedirectFields({
  redirect,
  number,
  errors,
  pointer,
  onChange,
  onRemove,
  onUp,
  onDown,
}: {
  redirect: RedirectRow
  number: number
  errors: Problem['errors']
  pointer: string
  onChange: (redirect: RedirectRow, touched: string) => void
  onRemove: () => void
  onUp: (() => void) | null
  onDown: (() => void) | null
}) {
  const field = (name: 'from' | 'to' | 'host') => ({
    mono: true,
    autoCapitalize: 'none',
    spellCheck: false,
    value: redirect[name],
    onChange: (event: { target: { value: string } }) =>
      onChange({ ...redirect, [name]: event.target.value }, `${pointer}/${name}`),
    error: errorsAt(errors, `${pointer}/${name}`),
  })
  const whole = ownErrors(errors, pointer)
  return (
    <fieldset className="min-w-0">
      <legend className="sr-only">{t.redirectOne(number)}</legend>
      <div className="flex flex-wrap items-start gap-x-3 gap-y-3">
        <div className="grid min-w-0 flex-1 grid-cols-2 items-start gap-3 lg:grid-cols-[1fr_1fr_11rem_1fr]">
          <TextField label={t.from} required maxLength={2000} placeholder="/old/*" {...field('from')} />
          <TextField label={t.to} required maxLength={2000} placeholder="/new/*" {...field('to')} />
          <SelectField
            label={t.status}
            value={redirect.status}
            onChange={(event) =>
              onChange(
                { ...redirect, status: redirectStatuses.find((one) => String(one) === event.target.value) ?? 308 },
                `${pointer}/status`,
              )
            }
            error={errorsAt(errors, `${pointer}/status`)}
          >
            {redirectStatuses.map((status) => (
              <option key={status} value={status}>
                {t.statuses[status]}
              </option>
            ))}
          </SelectField>
          <TextField label={t.onHost} maxLength={300} placeholder={t.anyHost} {...field('host')} />
        </div>
        <div className={cx('flex max-lg:w-full max-lg:justify-end', number === 1 && 'lg:mt-6')}>
          <IconButton icon={ArrowUp} label={t.moveUp(number)} disabled={onUp === null} onClick={onUp ?? undefined} />
          <IconButton
            icon={ArrowDown}
            label={t.moveDown(number)}
            disabled={onDown === null}
            onClick={onDown ?? undefined}
          />
          <IconButton icon={Trash2} label={t.removeRedirect(number)} onClick={onRemove} />
        </div>
      </div>
      {whole !== null && (
        <p role="alert" className="mt-1 text-sm break-words text-bad">
          {whole}
        </p>
      )}
    </fieldset>
  )
}
