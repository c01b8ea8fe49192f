import type { BackupTarget, TargetBackup } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Download, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { deleteTargetBackup, fetchBackup, targetBackupsQuery } from '../../api/backup-targets.ts'
import { Button, IconButton } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { toastProblem } from '../../components/toast.tsx'
import { formatBytes, formatDateTime } from '../../lib/format.ts'
import { texts } from '../../texts/index.ts'

const t = texts.backupTargets

/** What lies on a target, also of other instances. */
export function TargetBackups({ target, onClose }: { target: BackupTarget; onClose: () => void }) {
  const query = useQuery(targetBackupsQuery(target.id))
  const navigate = useNavigate()
  const [deleting, setDeleting] = useState<TargetBackup | null>(null)
  const follow = async (operation: string) => {
    onClose()
    await navigate({ to: '/operations/$operation', params: { operation } })
  }
  return (
    <Loaded query={query} rows={3}>
      {({ items, unreadable }) => (
        <>
          {items.length === 0 && <p className="text-ink-2">{t.nothingThere}</p>}
          <ul className="divide-y divide-line">
            {items.map((item) => (
              <TargetItem
                key={item.id}
                target={target}
                item={item}
                onFetch={follow}
                onDelete={() => setDeleting(item)}
              />
            ))}
          </ul>
          {unreadable.length > 0 && (
            <ul aria-label={t.unreadable} className="mt-2 rounded-lg bg-warn-soft px-3 py-2 text-sm">
              {unreadable.map((text) => (
                <li key={text} className="break-words">
                  {text}
                </li>
              ))}
            </ul>
          )}
          <DeleteCopy target={target} item={deleting} onClose={() => setDeleting(null)} onDeleting={follow} />
        </>
      )}
    </Loaded>
  )
}

interface TargetItemProps {
  target: BackupTarget
  item: TargetBackup
  onFetch: (operation: string) => Promise<void>
  onDelete: () => void
}

function TargetItem({ target, item, onFetch, onDelete }: TargetItemProps) {
  const [busy, setBusy] = useState(false)
  const [name, when] = [nameOf(item), formatDateTime(item.createdAt)]
  const fetch = async () => {
    setBusy(true)
    try {
      await onFetch((await fetchBackup(target.id, item.id)).id)
    } catch (error) {
      toastProblem(error)
    } finally {
      setBusy(false)
    }
  }
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-1 py-2">
      <div className="min-w-0 flex-1 basis-52">
        <p className="truncate font-medium">{name}</p>
        <p className="text-sm break-words text-ink-2">
          <span className="numbers">{when}</span> · <span className="numbers">{formatBytes(item.sizeBytes)}</span>
          {item.note !== null && ` · ${item.note}`}
          {!item.opens && ` · ${item.project === null ? t.needsKey : t.doesNotOpen}`}
        </p>
      </div>
      {item.here ? (
        <span className="text-sm text-ink-3">{t.isHere}</span>
      ) : (
        <Button
          size="sm"
          icon={Download}
          busy={busy}
          disabled={item.project === null && !item.opens}
          aria-label={t.fetchOne(inSentence(item), when)}
          onClick={() => void fetch()}
        >
          {t.fetch}
        </Button>
      )}
      <IconButton
        icon={Trash2}
        size="sm"
        look="secondary"
        label={t.deleteOne(inSentence(item), when)}
        onClick={onDelete}
      />
    </li>
  )
}

interface DeleteCopyProps {
  target: BackupTarget
  item: TargetBackup | null
  onClose: () => void
  onDeleting: (operation: string) => Promise<void>
}

/** The name of the project is typed: what is deleted may be the only one there is. */
function DeleteCopy({ target, item, onClose, onDeleting }: DeleteCopyProps) {
  const [name, when] = item === null ? ['', ''] : [inSentence(item), formatDateTime(item.createdAt)]
  return (
    <ConfirmDialog
      open={item !== null}
      onClose={onClose}
      title={t.deleteTitle(name, when)}
      detail={[t.deleteDetail(target.name, formatBytes(item?.sizeBytes ?? 0)), item?.own === false && t.deleteForeign]
        .filter(Boolean)
        .join(' ')}
      word={item?.project?.slug ?? texts.backups.instance.deleteWord}
      submit={t.deleteSubmit}
      onConfirm={async () => {
        if (item !== null) await onDeleting((await deleteTargetBackup(target.id, item.id)).id)
      }}
    />
  )
}

function nameOf({ project, own }: TargetBackup): string {
  if (project !== null) return project.name
  return own ? t.ofInstance : t.ofOtherInstance
}

function inSentence({ project, own }: TargetBackup): string {
  if (project !== null) return project.name
  return own ? t.ofThis : t.ofOther
}
