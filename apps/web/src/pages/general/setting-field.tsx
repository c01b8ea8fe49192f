import type { InstanceSetting } from '@stackquay/contract'
import type { ReactNode } from 'react'
import { Button } from '../../components/button.tsx'
import { SelectField, TextArea, TextField } from '../../components/field.tsx'
import { isList, isNumber, type SettingEdits, shownText } from '../../lib/instance-settings.ts'
import { texts } from '../../texts/index.ts'

const t = texts.instanceSettings

interface SettingFieldProps {
  readonly item: InstanceSetting
  readonly edits: SettingEdits
  /** Null: back to the default. */
  readonly onEdit: (text: string | null) => void
  readonly error: string | null
}

/** One setting: its field, what it means, where it comes from, and the way back to the default. */
export function SettingField({ item, edits, onEdit, error }: SettingFieldProps) {
  const isHeld = item.source === 'environment'
  const edit = edits[item.key]
  const mayReset = !isHeld && edit !== null && (item.source === 'stored' || item.ignored !== null)
  const label = t.labels[item.key]
  const shared = { label, help: help(item), error, disabled: isHeld, value: shownText(item, edits) }
  return (
    <div className={isList(item) ? 'min-w-0 sm:col-span-2' : 'min-w-0'}>
      <Control item={item} shared={shared} onEdit={onEdit} />
      {item.ignored !== null && edit === undefined && (
        <p className="mt-1 text-sm text-bad">{t.ignored(item.ignored)}</p>
      )}
      {(mayReset || item.pending) && (
        <div className="mt-1.5 flex flex-wrap items-center gap-2">
          {item.pending && <span className="rounded bg-warn-soft px-1.5 py-0.5 text-xs font-medium">{t.pending}</span>}
          {mayReset && (
            <Button size="sm" aria-label={t.resetOne(label)} onClick={() => onEdit(null)}>
              {t.reset}
            </Button>
          )}
        </div>
      )}
    </div>
  )
}

interface ControlProps {
  readonly item: InstanceSetting
  readonly shared: {
    readonly label: string
    readonly help: ReactNode
    readonly error: string | null
    readonly disabled: boolean
    readonly value: string
  }
  readonly onEdit: (text: string) => void
}

function Control({ item, shared, onEdit }: ControlProps) {
  if (item.choices !== null)
    return (
      <SelectField {...shared} onChange={(event) => onEdit(event.target.value)}>
        {item.choices.map((choice) => (
          <option key={choice} value={choice}>
            {choice}
          </option>
        ))}
      </SelectField>
    )
  if (isList(item)) {
    const rows = Math.min(6, Math.max(2, shared.value.split('\n').length))
    return <TextArea {...shared} mono rows={rows} onChange={(event) => onEdit(event.target.value)} />
  }
  return (
    <TextField
      {...shared}
      mono={!isNumber(item)}
      inputMode={isNumber(item) ? 'decimal' : undefined}
      spellCheck={false}
      autoCapitalize="none"
      onChange={(event) => onEdit(event.target.value)}
    />
  )
}

function help(item: InstanceSetting): ReactNode {
  const own = (t.helps as Readonly<Partial<Record<InstanceSetting['key'], string>>>)[item.key]
  return (
    <>
      {withCode(own ?? item.description)}
      {item.source === 'environment' ? (
        <span className="mt-0.5 block text-ink-2">{withCode(t.environment(`\`${item.variable}\``))}</span>
      ) : (
        item.restart && ` ${t.restart}`
      )}
    </>
  )
}

/** What stands between backticks is code. */
function withCode(text: string): ReactNode {
  let at = 0
  return text.split('`').map((part, index) => {
    at += part.length + 1
    return index % 2 === 0 ? (
      part
    ) : (
      <code key={at} className="break-words">
        {part}
      </code>
    )
  })
}
