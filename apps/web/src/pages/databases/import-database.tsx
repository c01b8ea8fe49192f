import type { DatabaseImport } from '@stackquay/contract'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { type ImportMode, importDump, planImport } from '../../api/dumps.ts'
import { Button } from '../../components/button.tsx'
import { DialogActions } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-state.tsx'
import { Segments, TextField } from '../../components/field.tsx'
import { Form } from '../../components/form.tsx'
import { PlanView } from '../../modules/plan-view.tsx'
import { useMay } from '../../modules/use-may.ts'
import { usePlan } from '../../modules/use-plan.ts'
import { useSubmit } from '../../modules/use-submit.ts'
import { texts } from '../../texts/index.ts'

const t = texts.databases.dumps

interface ImportDatabaseProps {
  project: string
  name: string
  onClose: () => void
}

/** Which file, what becomes of what is there, and what of the file was left out. */
export function ImportDatabase({ project, name, onClose }: ImportDatabaseProps) {
  const navigate = useNavigate()
  const may = useMay()
  const [file, setFile] = useState<File | null>(null)
  const [mode, setMode] = useState<ImportMode>('append')
  const [typed, setTyped] = useState('')
  const [taken, setTaken] = useState<DatabaseImport | null>(null)
  const { busy, error, clear, run } = useSubmit()
  const live = usePlan(['import', project, name], mode, (wanted, signal) => planImport(project, name, wanted, signal))
  const follow = async ({ operation }: DatabaseImport) => {
    onClose()
    await navigate({ to: '/operations/$operation', params: { operation: operation.id } })
  }
  const submit = () =>
    run(async () => {
      if (file === null) return
      const confirm = mode === 'replace' ? { confirm: typed } : {}
      const imported = await importDump(project, name, { mode, ...confirm }, file)
      if (imported.notes.length === 0) await follow(imported)
      else setTaken(imported)
    })
  if (taken !== null) return <LeftOut imported={taken} onFollow={() => void follow(taken)} />
  const isConfirmed = mode === 'append' || typed === name
  return (
    <Form onSubmit={submit}>
      <label className="flex flex-col gap-1.5">
        <span className="font-medium">{t.file}</span>
        <input
          type="file"
          className="text-sm file:mr-3 file:h-8 file:cursor-pointer file:rounded-md file:border file:border-line file:bg-surface file:px-3 file:text-ink hover:file:bg-hover"
          onChange={(event) => {
            clear()
            setFile(event.target.files?.[0] ?? null)
          }}
        />
        <span className="text-sm text-ink-3">{t.fileHelp}</span>
      </label>
      {may('admin') && (
        <Segments
          label={t.mode}
          options={(['append', 'replace'] as const).map((value) => ({ value, label: t.modes[value] }))}
          value={mode}
          onChange={(next) => {
            clear()
            setMode(next)
          }}
        />
      )}
      <div className="rounded-lg border border-line bg-sunken p-3">
        <PlanView live={live} idle={texts.create.planning} />
      </div>
      {mode === 'replace' && (
        <TextField
          label={texts.common.typeToConfirm(name)}
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
          mono
          spellCheck={false}
        />
      )}
      {error !== null && <ErrorNote error={error} />}
      <DialogActions>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button
          type="submit"
          look={mode === 'replace' ? 'danger' : 'primary'}
          busy={busy}
          disabled={file === null || !isConfirmed || live.pending || live.plan === null}
        >
          {busy ? t.sending : t.importSubmit}
        </Button>
      </DialogActions>
    </Form>
  )
}

function LeftOut({ imported, onFollow }: { imported: DatabaseImport; onFollow: () => void }) {
  return (
    <div className="flex flex-col gap-4">
      <p>{t.leftOutDetail}</p>
      <ul className="flex max-h-80 flex-col gap-1 overflow-auto rounded-lg border border-line bg-sunken p-3">
        {imported.notes.map(({ kind, text, count, lines }) => (
          <li key={`${kind} ${text}`} className="flex flex-wrap items-baseline gap-x-3">
            <code className="min-w-0 break-all">{text}</code>
            <span className="numbers text-sm text-ink-3">{t.lines(count, lines)}</span>
          </li>
        ))}
      </ul>
      <DialogActions>
        <Button look="primary" onClick={onFollow}>
          {t.follow}
        </Button>
      </DialogActions>
    </div>
  )
}
