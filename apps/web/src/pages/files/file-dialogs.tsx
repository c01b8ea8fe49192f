import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { createFolder, deleteFile, renameFile, restoreFile, writeFile } from '../../api/files.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { TextField } from '../../components/field.tsx'
import { toastDone, toastProblem } from '../../components/toast.tsx'
import { joined } from '../../lib/files.ts'
import { texts } from '../../texts/index.ts'

const t = texts.files

export type FileAct =
  | { readonly do: 'file' | 'folder'; readonly folder: string }
  | { readonly do: 'rename' | 'remove'; readonly path: string }
  | { readonly do: 'overwrite'; readonly name: string; readonly upload: () => Promise<void> }

interface DialogsProps {
  project: { readonly id: string; readonly slug: string }
  folder: string
  act: FileAct
  onClose: () => void
}

export function FileDialogs({ project, folder, act, onClose }: DialogsProps) {
  if (act.do === 'remove')
    return (
      <ConfirmDialog
        open
        onClose={onClose}
        title={t.removeTitle(act.path)}
        detail={t.removeDetail}
        submit={t.remove}
        onConfirm={async () => {
          const { id } = await deleteFile(project.id, act.path)
          toastDone(t.removed(act.path), { label: t.undo, run: () => void bringBack(project.id, id, act.path) })
        }}
      />
    )
  if (act.do === 'overwrite')
    return (
      <ConfirmDialog
        open
        onClose={onClose}
        title={t.overwriteTitle(act.name)}
        detail={t.overwriteDetail}
        submit={t.overwrite}
        onConfirm={act.upload}
      />
    )
  return <NameDialog project={project} folder={folder} act={act} onClose={onClose} />
}

/** For who may not open the trash. */
async function bringBack(project: string, item: string, path: string): Promise<void> {
  try {
    await restoreFile(project, item)
    toastDone(t.broughtBack(path))
  } catch (error) {
    toastProblem(error)
  }
}

function NameDialog({ project, folder, act, onClose }: DialogsProps & { act: Exclude<FileAct, { do: 'overwrite' }> }) {
  const navigate = useNavigate()
  const old = act.do === 'rename' || act.do === 'remove' ? act.path : ''
  const [name, setName] = useState(old)
  const confirm = async () => {
    if (act.do === 'rename') return renameFile(project.id, old, name)
    const path = joined(folder, name)
    if (act.do === 'folder') return createFolder(project.id, path)
    await writeFile(project.id, path, new Blob([]), null)
    const search = { ...(folder === '' ? {} : { path: folder }), file: path }
    await navigate({ to: '/projects/$project/files', params: { project: project.slug }, search })
  }
  const title = act.do === 'rename' ? t.renameTitle(old) : act.do === 'folder' ? t.newFolder : t.newFile
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      title={title}
      submit={act.do === 'rename' ? t.rename : t.create}
      look="primary"
      disabled={name === '' || name === old}
      onConfirm={confirm}
    >
      <div className="mb-4">
        <TextField
          label={act.do === 'rename' ? t.newPath : t.name}
          help={act.do === 'rename' ? t.newPathHelp : undefined}
          value={name}
          onChange={(event) => setName(event.target.value)}
          mono
          autoFocus
          spellCheck={false}
        />
      </div>
    </ConfirmDialog>
  )
}
