import type { Backup, ProjectView } from '@stackquay/contract'
import { Link } from '@tanstack/react-router'
import { ChevronRight, CopyPlus, Download, Ellipsis, HardDriveUpload, ShieldCheck, Trash2, Undo2 } from 'lucide-react'
import { useId, useState } from 'react'
import { downloadPath, verifyBackup } from '../../api/backups.ts'
import { Button, buttonClass, IconButton } from '../../components/button.tsx'
import { cx } from '../../components/class-names.ts'
import { Menu, MenuItem, MenuSeparator } from '../../components/menu.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { toastDone, toastProblem } from '../../components/toast.tsx'
import { formatBytes, formatDateTime } from '../../lib/format.ts'
import { DownloadLink } from '../../modules/download-link.tsx'
import { engineReason } from '../../modules/project-actions.ts'
import { useMay } from '../../modules/use-may.ts'
import { texts } from '../../texts/index.ts'
import { BackupDetails } from './backup-details.tsx'
import type { BackupAct } from './backup-dialogs.tsx'
import { VerifiedBadge } from './verified-badge.tsx'

const t = texts.backups

interface BackupItemProps {
  backup: Backup
  /** Null on the list of all: then its project is named. */
  project: ProjectView | null
  onAct: (act: BackupAct) => void
}

export function BackupItem({ backup, project, onAct }: BackupItemProps) {
  const [open, setOpen] = useState(false)
  const details = useId()
  return (
    <li className="px-4 py-3">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <div className="min-w-0 flex-1 basis-64">
          <button
            type="button"
            aria-expanded={open}
            aria-controls={details}
            onClick={() => setOpen(!open)}
            className="-ml-1 flex max-w-full items-center gap-1 rounded px-1 text-left font-medium hover:bg-hover"
          >
            <ChevronRight aria-hidden className={cx('size-4 shrink-0 transition-transform', open && 'rotate-90')} />
            <span className="numbers truncate">{formatDateTime(backup.createdAt)}</span>
          </button>
          <p className="pl-5 text-sm break-words text-ink-2">
            {project === null && <ProjectName backup={backup} />}
            <TimeAgo time={backup.createdAt} /> · <span className="numbers">{formatBytes(backup.sizeBytes)}</span> ·{' '}
            {t.parts(backup.parts.length)}
            {(backup.note !== null || backup.source !== 'manual') && ` · ${backup.note ?? t.sources[backup.source]}`}
          </p>
          <Copies backup={backup} />
        </div>
        <VerifiedBadge backup={backup} />
        <BackupButtons backup={backup} project={project} onAct={onAct} />
      </div>
      {!backup.opensHere && <p className="mt-2 pl-5 text-sm text-warn">{t.locked}</p>}
      <div id={details}>{open && <BackupDetails backup={backup} />}</div>
    </li>
  )
}

function Copies({ backup: { copies } }: { backup: Backup }) {
  if (copies.length === 0) return null
  return (
    <p className="pl-5 text-sm break-words text-ink-2">
      {t.copies(copies.map(({ name, state, at }) => `${name} (${t.copyStates[state]}, ${formatDateTime(at)})`))}
    </p>
  )
}

function ProjectName({ backup: { project } }: { backup: Backup }) {
  if (project.deleted) return `${t.deletedProject(project.name)} · `
  return (
    <>
      <Link to="/projects/$project/backups" params={{ project: project.slug }} className="text-accent-ink underline">
        {project.name}
      </Link>
      {' · '}
    </>
  )
}

function BackupButtons({ backup, project, onAct }: BackupItemProps) {
  const may = useMay()
  const [verifying, setVerifying] = useState(false)
  if (!may('operate')) return null
  const when = formatDateTime(backup.createdAt)
  const reason = project === null ? null : engineReason(project)
  const verify = async () => {
    setVerifying(true)
    try {
      await verifyBackup(backup)
      toastDone(t.verifying)
    } catch (error) {
      toastProblem(error)
    } finally {
      setVerifying(false)
    }
  }
  return (
    <div className="flex flex-wrap items-center gap-1.5">
      {!backup.project.deleted && (
        <Button
          size="sm"
          icon={ShieldCheck}
          busy={verifying}
          reason={reason}
          aria-label={t.verifyOne(when)}
          onClick={() => void verify()}
        >
          {t.verify}
        </Button>
      )}
      <DownloadLink
        path={downloadPath(backup)}
        className={buttonClass('secondary', 'sm')}
        aria-label={t.downloadOne(when)}
      >
        <Download aria-hidden className="size-3.5" />
        {t.download}
      </DownloadLink>
      {may('admin') && (
        <Menu trigger={<IconButton icon={Ellipsis} size="sm" look="secondary" label={t.actionsOf(when)} />}>
          {project !== null && (
            <MenuItem icon={Undo2} disabled={reason !== null} onSelect={() => onAct({ do: 'restore', backup })}>
              {t.restore}
            </MenuItem>
          )}
          <MenuItem icon={CopyPlus} disabled={!backup.opensHere} onSelect={() => onAct({ do: 'restore-as', backup })}>
            {t.restoreAs}
          </MenuItem>
          <MenuItem icon={HardDriveUpload} onSelect={() => onAct({ do: 'copy', backup })}>
            {t.copyTo}
          </MenuItem>
          <MenuSeparator />
          <MenuItem icon={Trash2} danger onSelect={() => onAct({ do: 'delete', backup })}>
            {t.delete}
          </MenuItem>
        </Menu>
      )}
    </div>
  )
}
