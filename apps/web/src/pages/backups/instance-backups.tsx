import type { InstanceBackup } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { Archive, Download, Ellipsis, HardDriveUpload, Trash2, Undo2 } from 'lucide-react'
import { useState } from 'react'
import {
  createInstanceBackup,
  deleteInstanceBackup,
  instanceBackupsQuery,
  instanceDownloadPath,
  restoreInstanceBackup,
  uploadInstanceBackup,
} from '../../api/instance-backups.ts'
import { Button, buttonClass, IconButton } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Menu, MenuItem, MenuSeparator } from '../../components/menu.tsx'
import { Panel } from '../../components/panel.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { toastDone, toastProblem } from '../../components/toast.tsx'
import { formatBytes, formatDateTime } from '../../lib/format.ts'
import { DownloadLink } from '../../modules/download-link.tsx'
import { texts } from '../../texts/index.ts'
import { CopyToTarget } from './copy-to-target.tsx'
import { UploadButton } from './upload-button.tsx'

const t = texts.backups.instance

interface Act {
  readonly do: 'restore' | 'copy' | 'delete'
  readonly backup: InstanceBackup
}

/** Backups of the service's own state. */
export function InstanceBackups() {
  const query = useQuery(instanceBackupsQuery)
  const [act, setAct] = useState<Act | null>(null)
  return (
    <Panel title={t.title} detail={t.detail} actions={<InstanceButtons />} flush>
      <Loaded query={query} rows={2}>
        {(backups) =>
          backups.length === 0 ? (
            <p className="px-4 py-3 text-sm text-ink-2">{t.empty}</p>
          ) : (
            <ol className="divide-y divide-line">
              {backups.map((backup) => (
                <InstanceItem key={backup.id} backup={backup} onAct={setAct} />
              ))}
            </ol>
          )
        }
      </Loaded>
      <InstanceDialogs act={act} onClose={() => setAct(null)} />
    </Panel>
  )
}

function InstanceButtons() {
  const [busy, setBusy] = useState(false)
  const create = async () => {
    setBusy(true)
    try {
      await createInstanceBackup()
      toastDone(t.created)
    } catch (error) {
      toastProblem(error)
    } finally {
      setBusy(false)
    }
  }
  const upload = async (file: File) => {
    await uploadInstanceBackup(file)
    toastDone(t.uploaded)
  }
  return (
    <>
      <UploadButton label={t.upload} onFile={upload} />
      <Button icon={Archive} busy={busy} onClick={() => void create()}>
        {t.create}
      </Button>
    </>
  )
}

function InstanceItem({ backup, onAct }: { backup: InstanceBackup; onAct: (act: Act) => void }) {
  const when = formatDateTime(backup.createdAt)
  const why = backup.note ?? (backup.source === 'manual' ? null : t.sources[backup.source])
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-3">
      <div className="min-w-0 flex-1 basis-64">
        <p className="numbers font-medium">{when}</p>
        <p className="text-sm break-words text-ink-2">
          <TimeAgo time={backup.createdAt} /> · <span className="numbers">{formatBytes(backup.sizeBytes)}</span> ·{' '}
          {t.contents(backup.projects, backup.users)}
          {why !== null && ` · ${why}`}
        </p>
        {backup.copies.length > 0 && (
          <p className="text-sm break-words text-ink-2">{texts.backups.copies(backup.copies.map(copyText))}</p>
        )}
        {!backup.opensHere && <p className="mt-1 text-sm text-warn">{t.locked(backup.keyId)}</p>}
      </div>
      <DownloadLink
        path={instanceDownloadPath(backup)}
        className={buttonClass('secondary', 'sm')}
        aria-label={t.downloadOne(when)}
      >
        <Download aria-hidden className="size-3.5" />
        {texts.backups.download}
      </DownloadLink>
      <Menu trigger={<IconButton icon={Ellipsis} size="sm" look="secondary" label={t.actionsOf(when)} />}>
        <MenuItem icon={Undo2} disabled={!backup.opensHere} onSelect={() => onAct({ do: 'restore', backup })}>
          {texts.backups.restore}
        </MenuItem>
        <MenuItem icon={HardDriveUpload} onSelect={() => onAct({ do: 'copy', backup })}>
          {texts.backups.copyTo}
        </MenuItem>
        <MenuSeparator />
        <MenuItem icon={Trash2} danger onSelect={() => onAct({ do: 'delete', backup })}>
          {texts.backups.delete}
        </MenuItem>
      </Menu>
    </li>
  )
}

function copyText({ name, state, at }: InstanceBackup['copies'][number]): string {
  return `${name} (${texts.backups.copyStates[state]}, ${formatDateTime(at)})`
}

function InstanceDialogs({ act, onClose }: { act: Act | null; onClose: () => void }) {
  const backup = act?.backup
  const when = backup === undefined ? '' : formatDateTime(backup.createdAt)
  return (
    <>
      <ConfirmDialog
        open={act?.do === 'restore'}
        onClose={onClose}
        title={t.restoreTitle(when)}
        detail={t.restoreDetail}
        word={t.restoreWord}
        submit={t.restoreSubmit}
        onConfirm={async () => {
          if (backup === undefined) return
          await restoreInstanceBackup(backup)
          window.location.assign('/')
        }}
      >
        <ul className="mb-3 list-disc pl-5 text-sm text-ink-2">
          {t.restoreMeans.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      </ConfirmDialog>
      <Dialog
        open={act?.do === 'copy'}
        onClose={onClose}
        title={texts.backups.copyTitle(when)}
        detail={texts.backups.copyDetail}
      >
        {backup !== undefined && <CopyToTarget backup={backup.id} onClose={onClose} />}
      </Dialog>
      <ConfirmDialog
        open={act?.do === 'delete'}
        onClose={onClose}
        title={t.deleteTitle(when)}
        detail={texts.backups.deleteDetail(formatBytes(backup?.sizeBytes ?? 0))}
        submit={texts.backups.deleteSubmit}
        onConfirm={async () => {
          if (backup === undefined) return
          await deleteInstanceBackup(backup)
          toastDone(texts.backups.deleted)
        }}
      />
    </>
  )
}
