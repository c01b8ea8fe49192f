import { useInfiniteQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { FilePlus, FolderArchive, FolderClosed, FolderPlus, Upload } from 'lucide-react'
import { Fragment, lazy, Suspense, useRef, useState } from 'react'
import { archivePath, folderQuery } from '../api/files.ts'
import { Button, buttonClass } from '../components/button.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { Loaded } from '../components/loaded.tsx'
import { MoreButton } from '../components/more-button.tsx'
import { Panel } from '../components/panel.tsx'
import { SkeletonList } from '../components/skeleton.tsx'
import { crumbsOf, type FilesSearch } from '../lib/files.ts'
import { DownloadLink } from '../modules/download-link.tsx'
import { useMay } from '../modules/use-may.ts'
import { texts } from '../texts/index.ts'
import { type FileAct, FileDialogs } from './files/file-dialogs.tsx'
import { FileList } from './files/file-list.tsx'
import { useUploads } from './files/use-uploads.ts'
import { useProject } from './use-project.ts'
import { useTitle } from './use-title.ts'

const t = texts.files
const from = '/app/projects/$project/files' as const
const FileEditor = lazy(async () => ({ default: (await import('./files/file-editor.tsx')).FileEditor }))

export function FilesPage() {
  const project = useProject()
  useTitle(project.name, texts.project.tabs.files)
  const may = useMay()
  const search = useSearch({ from })
  if (!may('operate')) return <EmptyState icon={FolderClosed} title={t.notAllowed} detail={t.notAllowedDetail} />
  return (
    <div className="flex w-full min-w-0 max-w-6xl flex-col gap-3 px-4 py-5 sm:px-6">
      {search.file === undefined ? (
        <Folder key={search.path ?? ''} project={project} path={search.path ?? ''} />
      ) : (
        <Open project={project} path={search.path ?? ''} file={search.file} />
      )}
    </div>
  )
}

interface FolderProps {
  project: { readonly id: string; readonly slug: string }
  path: string
}

function Open({ project, path, file }: FolderProps & { file: string }) {
  const navigate = useNavigate()
  const close = () =>
    void navigate({ to: '/projects/$project/files', params: { project: project.slug }, search: searchOf(path) })
  return (
    <Suspense fallback={<SkeletonList rows={8} />}>
      <FileEditor key={file} project={project.id} path={file} onClose={close} />
    </Suspense>
  )
}

/** What is in a folder, and what can be put there. */
function Folder({ project, path }: FolderProps) {
  const query = useInfiniteQuery(folderQuery(project.id, path))
  const [act, setAct] = useState<FileAct | null>(null)
  const [isOver, setOver] = useState(false)
  const chooser = useRef<HTMLInputElement>(null)
  const uploads = useUploads(project.id, path, (file, upload) => setAct({ do: 'overwrite', name: file, upload }))
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: dropping is a second way; the button Upload is the first
    <div
      className="flex min-w-0 flex-col gap-3"
      onDragOver={(event) => {
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault()
        setOver(false)
        uploads.begin(event.dataTransfer.files)
      }}
    >
      <div className="flex flex-wrap items-center justify-between gap-2">
        <Crumbs project={project.slug} path={path} />
        <div className="flex flex-wrap gap-1.5">
          <Button icon={Upload} look="primary" onClick={() => chooser.current?.click()}>
            {t.upload}
          </Button>
          <Button icon={FilePlus} onClick={() => setAct({ do: 'file', folder: path })}>
            {t.newFile}
          </Button>
          <Button icon={FolderPlus} onClick={() => setAct({ do: 'folder', folder: path })}>
            {t.newFolder}
          </Button>
          <DownloadLink path={archivePath(project.id, path)} className={buttonClass()}>
            <FolderArchive aria-hidden className="size-3.5" />
            {t.downloadFolder}
          </DownloadLink>
        </div>
        <input
          ref={chooser}
          type="file"
          multiple
          hidden
          aria-label={t.upload}
          onChange={(event) => {
            uploads.begin(event.target.files)
            event.target.value = ''
          }}
        />
      </div>
      {uploads.under.map(({ name, share }) => (
        <p key={name} role="status" className="numbers text-sm break-all text-ink-2">
          {t.uploading(name, Math.floor(share * 100))}
        </p>
      ))}
      <div className={isOver ? 'rounded-lg outline-2 outline-accent outline-dashed' : ''}>
        {isOver && <p className="p-2 text-center text-ink-2">{t.dropHere}</p>}
        <Loaded query={query} rows={8}>
          {({ pages }) => {
            const items = pages.flatMap((page) => page.items)
            return (
              <Panel flush>
                {items.length === 0 ? (
                  <EmptyState icon={FolderClosed} title={t.empty} detail={t.emptyDetail} />
                ) : (
                  <FileList project={project} folder={path} items={items} onAct={setAct} />
                )}
                <MoreButton query={query} />
                {pages.some(({ isWhole }) => !isWhole) && <p className="px-4 py-3 text-ink-2">{t.tooMany}</p>}
              </Panel>
            )
          }}
        </Loaded>
      </div>
      {act !== null && <FileDialogs project={project} folder={path} act={act} onClose={() => setAct(null)} />}
    </div>
  )
}

function searchOf(path: string): FilesSearch {
  return path === '' ? {} : { path }
}

function Crumbs({ project, path }: { project: string; path: string }) {
  const crumbs = [{ name: t.root, path: '' }, ...crumbsOf(path)]
  return (
    <nav aria-label={t.place} className="flex min-w-0 flex-wrap items-center gap-x-1">
      {crumbs.map((crumb, index) => (
        <Fragment key={crumb.path}>
          {index > 0 && (
            <span aria-hidden className="text-ink-3">
              /
            </span>
          )}
          <Link
            to="/projects/$project/files"
            params={{ project }}
            search={searchOf(crumb.path)}
            activeOptions={{ exact: true, includeSearch: true }}
            className="inline-flex min-h-6 items-center rounded px-0.5 break-all text-ink-2 hover:text-ink aria-[current=page]:font-medium aria-[current=page]:text-ink"
          >
            {crumb.name}
          </Link>
        </Fragment>
      ))}
    </nav>
  )
}
