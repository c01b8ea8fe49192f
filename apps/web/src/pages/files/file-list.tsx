import type { FileView } from '@stackquay/contract'
import { Link } from '@tanstack/react-router'
import { Download, Ellipsis, File, FileQuestion, Folder, Link2, Pencil, Trash2 } from 'lucide-react'
import { saveFile } from '../../api/download.ts'
import { archivePath, contentPath } from '../../api/files.ts'
import { Button } from '../../components/button.tsx'
import { Menu, MenuItem } from '../../components/menu.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { toastProblem } from '../../components/toast.tsx'
import { formatBytes } from '../../lib/format.ts'
import { texts } from '../../texts/index.ts'
import type { FileAct } from './file-dialogs.tsx'

const t = texts.files
const icons = { file: File, folder: Folder, link: Link2, other: FileQuestion } as const

interface ListProps {
  project: { readonly id: string; readonly slug: string }
  folder: string
  items: readonly FileView[]
  onAct: (act: FileAct) => void
}

export function FileList({ project, folder, items, onAct }: ListProps) {
  return (
    <ul aria-label={t.list} className="divide-y divide-line">
      {items.map((item) => {
        const Icon = icons[item.kind]
        const { path } = item
        return (
          <li key={`${item.kind} ${item.path ?? item.name}`} className="flex min-w-0 items-center gap-3 px-4 py-1.5">
            <Icon aria-label={t.kinds[item.kind]} className="size-4 shrink-0 text-ink-3" />
            <div className="min-w-0 flex-1">
              <Name project={project.slug} folder={folder} item={item} />
              {item.link !== null && (
                <span className="ml-2 text-sm break-all text-ink-3">{t.leadsTo(item.link.target)}</span>
              )}
            </div>
            <span className="numbers hidden w-24 text-right text-sm text-ink-2 sm:block">
              {item.kind === 'file' ? formatBytes(item.size) : ''}
            </span>
            <span className="hidden w-32 text-right text-sm text-ink-2 sm:block">
              <TimeAgo time={item.modifiedAt} />
            </span>
            {path === null ? (
              <span className="w-8" />
            ) : (
              <Menu trigger={<Button size="sm" look="ghost" icon={Ellipsis} aria-label={t.more(item.name)} />}>
                {(item.kind === 'file' || item.kind === 'folder') && (
                  <MenuItem
                    icon={Download}
                    onSelect={() => {
                      const from = item.kind === 'file' ? contentPath(project.id, path) : archivePath(project.id, path)
                      saveFile(from).catch(toastProblem)
                    }}
                  >
                    {t.download}
                  </MenuItem>
                )}
                <MenuItem icon={Pencil} onSelect={() => onAct({ do: 'rename', path })}>
                  {t.rename}
                </MenuItem>
                <MenuItem icon={Trash2} onSelect={() => onAct({ do: 'remove', path })}>
                  {t.remove}
                </MenuItem>
              </Menu>
            )}
          </li>
        )
      })}
    </ul>
  )
}

function Name({ project, folder, item }: { project: string; folder: string; item: FileView }) {
  const kind = item.kind === 'link' ? item.link?.to : item.kind
  const shown = item.name.replaceAll('\n', '\\n')
  if (item.path === null || (kind !== 'file' && kind !== 'folder')) return <span className="break-all">{shown}</span>
  const search =
    kind === 'folder' ? { path: item.path } : { ...(folder === '' ? {} : { path: folder }), file: item.path }
  return (
    <Link
      to="/projects/$project/files"
      params={{ project }}
      search={search}
      className="inline-flex min-h-6 items-center rounded break-all hover:underline"
    >
      {shown}
    </Link>
  )
}
