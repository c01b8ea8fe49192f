import type { Problem } from '@stackquay/contract'
import { Plus, Trash2 } from 'lucide-react'
import { Button, IconButton } from '../components/button.tsx'
import { SelectField, TextField } from '../components/field.tsx'
import { Panel } from '../components/panel.tsx'
import { errorsAt } from '../lib/field-errors.ts'
import type { HeaderRow } from '../lib/rules-form.ts'
import { texts } from '../texts/index.ts'
import { ownErrors } from './rules-access.tsx'

const t = texts.network.rules

interface RulesHeadersProps {
  kind: 'requestHeaders' | 'responseHeaders'
  headers: readonly HeaderRow[]
  errors: Problem['errors']
  onChange: (headers: readonly HeaderRow[], touched: string) => void
}

export function RulesHeaders({ kind, headers, errors, onChange }: RulesHeadersProps) {
  const at = `/${kind}`
  const listError = ownErrors(errors, at)
  const add = () => {
    const header = { key: crypto.randomUUID(), name: '', value: '', remove: false }
    onChange([...headers, header], `${at}/${headers.length}`)
  }
  return (
    <Panel
      title={t[kind].title}
      detail={t[kind].detail}
      actions={
        <Button
          icon={Plus}
          aria-label={`${t.addHeader}: ${t[kind].title}`}
          disabled={headers.length >= 100}
          onClick={add}
        >
          {t.addHeader}
        </Button>
      }
    >
      {listError !== null && <p className="mb-2 text-sm text-bad">{listError}</p>}
      {headers.length === 0 ? (
        <p className="text-ink-3">{t.noHeaders}</p>
      ) : (
        <ul className="flex flex-col gap-3 max-lg:gap-4">
          {headers.map((header, index) => (
            <li
              key={header.key}
              className={
                index === 0 ? undefined : 'max-lg:border-t max-lg:border-line max-lg:pt-4 lg:[&_label]:sr-only'
              }
            >
              <HeaderFields
                header={header}
                number={index + 1}
                errors={errors}
                pointer={`${at}/${index}`}
                onChange={(next, touched) => onChange(headers.with(index, next), touched)}
                onRemove={() => onChange(headers.toSpliced(index, 1), at)}
              />
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}

function HeaderFields({
  header,
  number,
  errors,
  pointer,
  onChange,
  onRemove,
}: {
  header: HeaderRow
  number: number
  errors: Problem['errors']
  pointer: string
  onChange: (header: HeaderRow, touched: string) => void
  onRemove: () => void
}) {
  return (
    <fieldset className="min-w-0">
      <legend className="sr-only">{t.headerOne(number)}</legend>
      <div className="flex items-start gap-x-3">
        <div className="grid min-w-0 flex-1 grid-cols-[minmax(0,1fr)_6.5rem] items-start gap-3 lg:grid-cols-[minmax(0,1fr)_6.5rem_minmax(0,2fr)]">
          <TextField
            label={t.headerName}
            required
            mono
            maxLength={100}
            autoCapitalize="none"
            spellCheck={false}
            placeholder="X-Robots-Tag"
            value={header.name}
            onChange={(event) => onChange({ ...header, name: event.target.value }, `${pointer}/name`)}
            error={errorsAt(errors, `${pointer}/name`) ?? ownErrors(errors, pointer)}
          />
          <SelectField
            label={t.headerAct}
            value={header.remove ? 'remove' : 'set'}
            onChange={(event) => onChange({ ...header, remove: event.target.value === 'remove' }, `${pointer}/value`)}
          >
            <option value="set">{t.headerSet}</option>
            <option value="remove">{t.headerRemove}</option>
          </SelectField>
          <TextField
            label={t.headerValue}
            mono
            maxLength={4000}
            spellCheck={false}
            disabled={header.remove}
            placeholder={header.remove ? t.headerGone : undefined}
            value={header.remove ? '' : header.value}
            onChange={(event) => onChange({ ...header, value: event.target.value }, `${pointer}/value`)}
            error={errorsAt(errors, `${pointer}/value`)}
            className="max-lg:col-span-2"
          />
        </div>
        <IconButton
          icon={Trash2}
          label={t.removeHeader(number)}
          onClick={onRemove}
          className={number === 1 ? 'mt-6' : 'max-lg:mt-6'}
        />
      </div>
    </fieldset>
  )
}
