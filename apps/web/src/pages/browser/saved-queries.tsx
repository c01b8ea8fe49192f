import { useQuery } from '@tanstack/react-query'
import { FolderOpen, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { type DatabaseRef, deleteQuery, savedQueriesQuery, saveQuery } from '../../api/database-browser.ts'
import { Button, IconButton } from '../../components/button.tsx'
import { Dialog, DialogActions } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-state.tsx'
import { TextField } from '../../components/field.tsx'
import { Form } from '../../components/form.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { toastDone, toastProblem } from '../../components/toast.tsx'
import { useSubmit } from '../../modules/use-submit.ts'
import { texts } from '../../texts/index.ts'

const t = texts.browser.saved

interface SavedQueriesProps {
  database: DatabaseRef
  sql: string
  /** Whether a name is asked for. */
  saving: boolean
  onSaved: () => void
  onChoose: (sql: string) => void
}

export function SavedQueries({ database, sql, saving, onSaved, onChoose }: SavedQueriesProps) {
  const [open, setOpen] = useState(false)
  return (
    <>
      <Button icon={FolderOpen} onClick={() => setOpen(true)}>
        {t.open}
      </Button>
      <Dialog open={open} onClose={() => setOpen(false)} title={t.title} detail={t.detail} wide>
        <List
          project={database.project}
          onChoose={(chosen) => {
            onChoose(chosen)
            setOpen(false)
          }}
        />
      </Dialog>
      <Dialog open={saving} onClose={onSaved} title={t.saveTitle}>
        <Save database={database} sql={sql} onSaved={onSaved} />
      </Dialog>
    </>
  )
}

function List({ project, onChoose }: { project: string; onChoose: (sql: string) => void }) {
  const query = useQuery(savedQueriesQuery(project))
  return (
    <Loaded query={query} rows={3}>
      {({ items }) =>
        items.length === 0 ? (
          <p className="text-ink-2">{t.none}</p>
        ) : (
          <ul className="divide-y divide-line">
            {items.map((item) => (
              <li key={item.id} className="flex items-center gap-2 py-1.5">
                <button
                  type="button"
                  onClick={() => onChoose(item.sql)}
                  className="min-w-0 flex-1 rounded px-1 text-left hover:bg-hover"
                >
                  <span className="block truncate font-medium">{item.name}</span>
                  <span className="block truncate font-mono text-sm text-ink-3">{item.sql}</span>
                </button>
                <IconButton
                  icon={Trash2}
                  size="sm"
                  label={t.delete(item.name)}
                  onClick={() => void deleteQuery(project, item).catch(toastProblem)}
                />
              </li>
            ))}
          </ul>
        )
      }
    </Loaded>
  )
}

function Save({ database, sql, onSaved }: { database: DatabaseRef; sql: string; onSaved: () => void }) {
  const [name, setName] = useState('')
  const { busy, error, run } = useSubmit()
  const submit = () =>
    run(async () => {
      await saveQuery(database, name, sql)
      toastDone(t.done(name))
      onSaved()
    })
  return (
    <Form onSubmit={submit}>
      <TextField
        label={t.name}
        help={t.nameHelp}
        required
        maxLength={80}
        value={name}
        onChange={(event) => setName(event.target.value)}
        autoFocus
      />
      {error !== null && <ErrorNote error={error} />}
      <DialogActions>
        <Button onClick={onSaved}>{texts.common.cancel}</Button>
        <Button type="submit" look="primary" busy={busy} disabled={name.trim() === ''}>
          {t.save}
        </Button>
      </DialogActions>
    </Form>
  )
}
