import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { type Cell, type DatabaseRef, type DatabaseTable, editRows, type RowEdit } from '../../api/database-browser.ts'
import { Button } from '../../components/button.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { Dialog, DialogActions } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-state.tsx'
import { Check, TextArea } from '../../components/field.tsx'
import { Form } from '../../components/form.tsx'
import { toastDone } from '../../components/toast.tsx'
import { useDebounced } from '../../components/use-debounced.ts'
import { useSubmit } from '../../modules/use-submit.ts'
import { texts } from '../../texts/index.ts'
import { shownValue } from './grid.tsx'

const t = texts.browser.editor

export type EditedRow =
  | { readonly kind: 'insert' }
  | { readonly kind: 'update' | 'delete'; readonly values: readonly Cell[] }

interface RowEditorProps {
  database: DatabaseRef
  table: DatabaseTable
  edited: EditedRow
  onClose: () => void
}

/** What is in a field: a text, NULL, or what the server makes of it. */
type Draft = { readonly text: string } | 'null' | 'untouched'

/** One row with the statement that is going to be carried out; it touches the row as it was seen, or nothing. */
export function RowEditor({ database, table, edited, onClose }: RowEditorProps) {
  const [drafts, setDrafts] = useState<Readonly<Record<string, Draft>>>({})
  const { busy, error, run } = useSubmit()
  const change = changeOf(table, edited, drafts)
  const asked = useDebounced(change, 300)
  const preview = useQuery({
    queryKey: ['browser', database.project, database.database, 'preview', table.schema, table.name, asked],
    queryFn: ({ signal }) => editRows(database, table, [asked!], true, signal),
    enabled: asked !== null,
    gcTime: 0,
    retry: false,
  })
  const submit = () =>
    run(async () => {
      if (change === null) return
      await editRows(database, table, [change], false)
      toastDone(t.done[edited.kind])
      onClose()
    })
  const isDeleted = edited.kind === 'delete'
  return (
    <Dialog
      open
      onClose={onClose}
      title={t.titles[edited.kind](table.name)}
      detail={isDeleted ? t.deleteDetail : null}
      wide
    >
      <Form onSubmit={submit}>
        {!isDeleted &&
          table.columns.map((column, at) => (
            <ColumnField
              key={column.name}
              column={column}
              value={edited.kind === 'update' ? (edited.values[at] ?? null) : undefined}
              draft={drafts[column.name] ?? 'untouched'}
              onDraft={(draft) => setDrafts({ ...drafts, [column.name]: draft })}
            />
          ))}
        <div>
          <p className="mb-1 text-sm font-medium">{t.preview}</p>
          {preview.isError ? (
            <ErrorNote error={preview.error} />
          ) : (
            <CodeBlock label={t.preview} code={preview.data?.statements.join('\n') ?? t.noChange} wrap />
          )}
        </div>
        {error !== null && <ErrorNote error={error} />}
        <DialogActions>
          <Button onClick={onClose}>{texts.common.cancel}</Button>
          <Button type="submit" look={isDeleted ? 'danger' : 'primary'} busy={busy} disabled={change === null}>
            {t.submits[edited.kind]}
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  )
}

interface ColumnFieldProps {
  column: DatabaseTable['columns'][number]
  /** Absent in a row that is new. */
  value: Cell | undefined
  draft: Draft
  onDraft: (draft: Draft) => void
}

function ColumnField({ column, value, draft, onDraft }: ColumnFieldProps) {
  // What is only partly here cannot be written back.
  const isFixed = column.generated || (typeof value === 'object' && value !== null)
  const known =
    value === undefined || value === null ? '' : typeof value === 'object' ? shownValue(value) : String(value)
  const text = draft === 'null' ? '' : draft === 'untouched' ? known : draft.text
  const isNull = draft === 'null' || (draft === 'untouched' && value === null)
  return (
    <div className="flex flex-col gap-1">
      <TextArea
        label={
          <>
            <span className="font-mono">{column.name}</span>{' '}
            <span className="font-normal text-ink-3">{column.type}</span>
          </>
        }
        help={
          isFixed ? t.fixed : value === undefined && draft === 'untouched' ? t.byDefault(column.default) : undefined
        }
        readOnly={isFixed}
        rows={Math.min(6, text.split('\n').length)}
        placeholder={isNull ? 'NULL' : ''}
        value={text}
        onChange={(event) => onDraft({ text: event.target.value })}
        mono
      />
      {column.nullable && !isFixed && (
        <Check label="NULL" checked={isNull} onChange={(next) => onDraft(next ? 'null' : { text: known })} />
      )}
    </div>
  )
}

/** Null: nothing is changed yet. */
function changeOf(table: DatabaseTable, edited: EditedRow, drafts: Readonly<Record<string, Draft>>): RowEdit | null {
  const set: Record<string, string | null> = {}
  for (const [name, draft] of Object.entries(drafts))
    if (draft !== 'untouched') set[name] = draft === 'null' ? null : draft.text
  if (edited.kind === 'insert') return { act: 'insert', set }
  const values = edited.values
  const old: Record<string, string | number | boolean | null> = {}
  for (const [at, column] of table.columns.entries()) {
    const value = values[at] ?? null
    // Of a row that goes, everything that is known whole must still be so; else what is changed, and the key.
    const isAsked =
      table.primaryKey.includes(column.name) || edited.kind === 'delete' || Object.hasOwn(set, column.name)
    if (isAsked && (typeof value !== 'object' || value === null)) old[column.name] = value
  }
  if (edited.kind === 'delete') return { act: 'delete', old }
  return Object.keys(set).length === 0 ? null : { act: 'update', old, set }
}
