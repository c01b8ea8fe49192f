import { useQuery } from '@tanstack/react-query'
import { ArrowLeft, Download, FileQuestion, Save } from 'lucide-react'
import { useState } from 'react'
import { isStatus } from '../../api/client.ts'
import { contentPath, readFile, writeFile } from '../../api/files.ts'
import { Button, buttonClass } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Dialog, DialogActions } from '../../components/dialog.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { ErrorNote } from '../../components/error-state.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Panel } from '../../components/panel.tsx'
import { toastDone } from '../../components/toast.tsx'
import { mostEdited, textIn } from '../../lib/files.ts'
import { DownloadLink } from '../../modules/download-link.tsx'
import { TextEditor } from '../../modules/text-editor.tsx'
import { useSubmit } from '../../modules/use-submit.ts'
import { texts } from '../../texts/index.ts'

const t = texts.files

interface EditorProps {
  project: string
  path: string
  onClose: () => void
}

/** A file that is text and not too large; what is not is told. */
export function FileEditor({ project, path, onClose }: EditorProps) {
  const query = useQuery({
    queryKey: ['project', project, 'file', path],
    queryFn: async () => {
      const found = await readFile(project, path, mostEdited)
      if (found === null) return 'large' as const
      const text = textIn(found.bytes)
      return text === null ? ('binary' as const) : { text, etag: found.etag }
    },
    // What is being edited is replaced by nobody.
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })
  return (
    <Loaded query={query} rows={8}>
      {(found) =>
        typeof found === 'string' ? (
          <Panel flush>
            <EmptyState icon={FileQuestion} title={path} detail={found === 'large' ? t.tooLarge : t.binary}>
              <Button icon={ArrowLeft} onClick={onClose}>
                {t.close}
              </Button>
              <DownloadLink path={contentPath(project, path)} className={buttonClass('primary')}>
                {t.download}
              </DownloadLink>
            </EmptyState>
          </Panel>
        ) : (
          <Editing
            key={found.etag}
            project={project}
            path={path}
            start={found}
            onClose={onClose}
            onAgain={() => void query.refetch()}
          />
        )
      }
    </Loaded>
  )
}

interface EditingProps extends EditorProps {
  start: { readonly text: string; readonly etag: string }
  onAgain: () => void
}

function Editing({ project, path, start, onClose, onAgain }: EditingProps) {
  const [text, setText] = useState(start.text)
  const [kept, setKept] = useState({ text: start.text, etag: start.etag })
  const [dialog, setDialog] = useState<'conflict' | 'leave' | null>(null)
  const { busy, error, run } = useSubmit()
  const isChanged = text !== kept.text
  const save = (ifMatch: string) =>
    run(async () => {
      try {
        const { etag } = await writeFile(project, path, new Blob([text]), ifMatch)
        setKept({ text, etag: `"${etag}"` })
        setDialog(null)
        toastDone(t.saved)
      } catch (failure) {
        if (!isStatus(failure, 412)) throw failure
        setDialog('conflict')
      }
    })
  return (
    <>
      <div className="flex min-w-0 flex-wrap items-center gap-2">
        <Button icon={ArrowLeft} onClick={() => (isChanged ? setDialog('leave') : onClose())}>
          {t.close}
        </Button>
        <h2 className="min-w-0 flex-1 basis-40 font-mono text-sm break-all">{path}</h2>
        {isChanged && <span className="text-sm text-ink-2">{t.unsaved}</span>}
        <DownloadLink path={contentPath(project, path)} className={buttonClass()}>
          <Download aria-hidden className="size-3.5" />
          {t.download}
        </DownloadLink>
        <Button icon={Save} look="primary" busy={busy} disabled={!isChanged} onClick={() => void save(kept.etag)}>
          {t.save}
        </Button>
      </div>
      {error !== null && <ErrorNote error={error} />}
      <TextEditor
        label={t.editor(path)}
        start={start.text}
        onChange={setText}
        onSave={() => void (isChanged && save(kept.etag))}
      />
      <Dialog
        open={dialog === 'conflict'}
        onClose={() => setDialog(null)}
        title={t.conflictTitle}
        detail={t.conflictDetail}
      >
        <DialogActions>
          <Button onClick={() => setDialog(null)}>{t.keepEditing}</Button>
          <Button onClick={onAgain}>{t.takeTheirs}</Button>
          <Button look="danger" busy={busy} onClick={() => void save('*')}>
            {t.keepMine}
          </Button>
        </DialogActions>
      </Dialog>
      <ConfirmDialog
        open={dialog === 'leave'}
        onClose={() => setDialog(null)}
        title={t.leaveTitle}
        detail={t.leaveDetail}
        submit={t.leave}
        onConfirm={async () => onClose()}
      />
    </>
  )
}
