import { useQuery } from '@tanstack/react-query'
import { ClipboardPaste, Plus } from 'lucide-react'
import { useState } from 'react'
import { removeVariable } from '../api/changes.ts'
import { projectEnvQuery } from '../api/queries.ts'
import { Button } from '../components/button.tsx'
import { ConfirmDialog } from '../components/confirm-dialog.tsx'
import { Dialog } from '../components/dialog.tsx'
import { Loaded } from '../components/loaded.tsx'
import { Panel } from '../components/panel.tsx'
import { toastDone } from '../components/toast.tsx'
import { engineReason } from '../modules/project-actions.ts'
import { useMay } from '../modules/use-may.ts'
import { texts } from '../texts/index.ts'
import { EnvPlan } from './env/env-plan.tsx'
import { PasteForm } from './env/paste-form.tsx'
import { type Editing, VariableForm } from './env/variable-form.tsx'
import { VariablesTable } from './env/variables-table.tsx'
import { useProject } from './use-project.ts'
import { useTitle } from './use-title.ts'

const t = texts.env

export function EnvPage() {
  const project = useProject()
  useTitle(project.name, texts.project.tabs.env)
  const query = useQuery(projectEnvQuery(project.id))
  const [editing, setEditing] = useState<Editing | null>(null)
  const [deleting, setDeleting] = useState<string | null>(null)
  const [pasting, setPasting] = useState(false)
  const mayChange = useMay()('operate')
  const reason = engineReason(project)
  const add = () => setEditing({ name: null, value: '', secret: false, runtimes: null })

  return (
    <div className="flex w-full max-w-6xl flex-col gap-4 px-4 py-5 sm:px-6">
      <Panel
        title={t.title}
        detail={t.detail}
        flush
        actions={
          mayChange && (
            <>
              <Button icon={ClipboardPaste} reason={reason} onClick={() => setPasting(true)}>
                {t.paste}
              </Button>
              <Button icon={Plus} look="primary" reason={reason} onClick={add}>
                {t.add}
              </Button>
            </>
          )
        }
      >
        <Loaded query={query} rows={4} height="h-8">
          {({ env }) => (
            <VariablesTable
              project={project}
              variables={Object.entries(env).sort(([one], [other]) => one.localeCompare(other))}
              readAt={query.dataUpdatedAt}
              onEdit={setEditing}
              onDelete={setDeleting}
            />
          )}
        </Loaded>
      </Panel>
      {query.data && query.data.injected.length > 0 && <Injected names={query.data.injected} />}
      <Dialog
        open={editing !== null}
        onClose={() => setEditing(null)}
        title={editing?.name == null ? t.addTitle : t.editTitle(editing.name)}
        wide
      >
        {editing !== null && <VariableForm project={project} editing={editing} onClose={() => setEditing(null)} />}
      </Dialog>
      <Dialog open={pasting} onClose={() => setPasting(false)} title={t.pasteTitle} detail={t.pasteDetail} wide>
        <PasteForm project={project.id} onClose={() => setPasting(false)} />
      </Dialog>
      <DeleteVariable
        project={project.id}
        name={deleting}
        onClose={() => setDeleting(null)}
        onDeleted={() => query.refetch()}
      />
    </div>
  )
}

/** What the project gets from its databases and services. */
function Injected({ names }: { names: readonly string[] }) {
  return (
    <Panel title={t.injected} detail={t.injectedDetail}>
      <ul className="flex flex-wrap gap-1.5">
        {names.map((name) => (
          <li key={name} className="rounded-md border border-line bg-sunken px-2 py-0.5">
            <code>{name}</code>
          </li>
        ))}
      </ul>
    </Panel>
  )
}

interface DeleteVariableProps {
  project: string
  /** Null while none is to be deleted. */
  name: string | null
  onClose: () => void
  onDeleted: () => Promise<unknown>
}

function DeleteVariable({ project, name, onClose, onDeleted }: DeleteVariableProps) {
  return (
    <ConfirmDialog
      open={name !== null}
      onClose={onClose}
      title={t.deleteTitle(name ?? '')}
      detail={t.deleteDetail}
      submit={texts.common.delete}
      onConfirm={async () => {
        if (name === null) return
        await removeVariable(project, name)
        await onDeleted()
        toastDone(t.deleted(name))
      }}
    >
      {name !== null && (
        <div className="mb-4">
          <EnvPlan project={project} env={{ [name]: null }} />
        </div>
      )}
    </ConfirmDialog>
  )
}
