import type { CallResult } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { ArrowLeft, Download, ImageOff, Mail, MailX, Paperclip, Trash2 } from 'lucide-react'
import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react'
import { isStatus } from '../api/client.ts'
import {
  attachmentPath,
  deleteMail,
  mailFrameQuery,
  mailMessageQuery,
  mailSourceQuery,
  markMail,
  sourcePath,
} from '../api/mail.ts'
import { Button, buttonClass, IconButton } from '../components/button.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { ErrorState } from '../components/error-state.tsx'
import { Segments, Switch } from '../components/field.tsx'
import { ScrollBox } from '../components/scroll-box.tsx'
import { SkeletonList } from '../components/skeleton.tsx'
import { toastDone, toastProblem } from '../components/toast.tsx'
import { formatBytes, formatDateTime } from '../lib/format.ts'
import { hasRemoteImages, mailSandbox } from '../lib/mail-frame.ts'
import { texts } from '../texts/index.ts'
import { DownloadLink } from './download-link.tsx'

const t = texts.mail
type Message = CallResult<'getMail'>
type Address = Message['to'][number]
type View = keyof typeof t.views

export function MailMessage({ project, id, onLeave }: { project: string; id: string; onLeave: () => void }) {
  const query = useQuery(mailMessageQuery(project, id))
  useReadMark(project, query.data)
  if (query.isPending) return <SkeletonList rows={5} />
  if (query.isError) {
    if (!isStatus(query.error, 404)) {
      return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
    }
    return (
      <EmptyState icon={MailX} title={t.gone} detail={t.goneDetail}>
        <Button onClick={onLeave}>{t.back}</Button>
      </EmptyState>
    )
  }
  const message = query.data
  const act = (what: Promise<void>, done: () => void) => void what.then(done, toastProblem)
  return (
    <article aria-label={message.subject || t.noSubject} className="flex min-h-0 flex-1 flex-col">
      <header className="flex flex-col gap-3 border-b border-line bg-surface px-4 py-3 sm:px-6">
        <div className="flex items-start gap-2">
          <IconButton icon={ArrowLeft} label={t.back} className="-ml-2 lg:hidden" onClick={onLeave} />
          <h3 className="min-w-0 flex-1 pt-1 text-lg break-words">{message.subject || t.noSubject}</h3>
          <span className="flex shrink-0">
            <IconButton icon={Mail} label={t.markUnread} onClick={() => act(markMail(project, id, false), onLeave)} />
            <IconButton
              icon={Trash2}
              label={t.delete}
              onClick={() =>
                act(deleteMail(project, id), () => {
                  toastDone(t.deleted)
                  onLeave()
                })
              }
            />
          </span>
        </div>
        <People message={message} />
        <Files project={project} message={message} />
      </header>
      <Content project={project} message={message} />
    </article>
  )
}

/** Marked once when it is opened; a person may then call it unread again. */
function useReadMark(project: string, message: Message | undefined): void {
  const marked = useRef(false)
  useEffect(() => {
    if (message === undefined || message.read || marked.current) return
    marked.current = true
    markMail(project, message.id, true).catch(toastProblem)
  }, [project, message])
}

function People({ message }: { message: Message }) {
  const rows: readonly (readonly [string, readonly Address[]])[] = [
    [t.from, message.from === null ? [] : [message.from]],
    [t.to, message.to],
    [t.cc, message.cc],
    [t.bcc, message.bcc],
    [t.replyTo, message.replyTo],
  ]
  return (
    <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-3 text-sm">
      {rows
        .filter(([, addresses]) => addresses.length > 0)
        .map(([label, addresses]) => (
          <div key={label} className="contents">
            <dt className="text-ink-3">{label}</dt>
            <dd className="min-w-0 break-words">{addresses.map(addressText).join(', ')}</dd>
          </div>
        ))}
      <dt className="text-ink-3">{t.received}</dt>
      <dd className="numbers">
        {formatDateTime(message.receivedAt)} · {formatBytes(message.sizeBytes)}
      </dd>
    </dl>
  )
}

function addressText({ name, address }: Address): string {
  return name === '' ? address : `${name} <${address}>`
}

function Files({ project, message }: { project: string; message: Message }) {
  const files = message.attachments.filter((file) => !file.inline)
  if (files.length === 0) return null
  return (
    <ul aria-label={t.files} className="flex flex-wrap gap-1.5">
      {files.map((file) => {
        const name = file.fileName ?? t.unnamed(file.index + 1)
        return (
          <li key={file.index} className="max-w-full min-w-0">
            <DownloadLink
              path={attachmentPath(project, message.id, file.index)}
              fileName={file.fileName ?? ''}
              className={`${buttonClass('secondary', 'sm')} max-w-full min-w-0`}
            >
              <Paperclip aria-hidden className="size-3.5 shrink-0" />
              <span className="sr-only">{t.download}</span>
              <span className="min-w-0 truncate">{name}</span>
              <span className="numbers shrink-0 text-ink-3">{formatBytes(file.sizeBytes)}</span>
            </DownloadLink>
          </li>
        )
      })}
    </ul>
  )
}

function Content({ project, message }: { project: string; message: Message }) {
  const views: readonly View[] =
    message.html === null ? ['text', 'headers', 'source'] : ['html', 'text', 'headers', 'source']
  const [view, setView] = useState<View>(views[0] ?? 'text')
  const [remoteImages, setRemoteImages] = useState(false)
  const remote = useMemo(() => message.html !== null && hasRemoteImages(message.html), [message.html])
  return (
    <>
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2 border-b border-line bg-surface px-4 py-2 sm:px-6">
        <Segments
          label={t.viewsLabel}
          value={view}
          onChange={setView}
          options={views.map((value) => ({ value, label: t.views[value] }))}
        />
        {view === 'html' && remote && (
          <span className="flex flex-wrap items-center gap-x-3 gap-y-1 text-sm text-ink-2">
            {!remoteImages && (
              <span className="inline-flex items-center gap-1.5">
                <ImageOff aria-hidden className="size-4 shrink-0" />
                {t.remoteBlocked}
              </span>
            )}
            <Switch label={t.remoteImages} checked={remoteImages} onChange={setRemoteImages} />
          </span>
        )}
        {view === 'source' && (
          <DownloadLink
            path={sourcePath(project, message.id)}
            fileName={`${message.id}.eml`}
            className={`${buttonClass('secondary', 'sm')} ml-auto`}
          >
            <Download aria-hidden className="size-3.5" />
            {t.downloadSource}
          </DownloadLink>
        )}
      </div>
      {message.problem !== null && <Notice>{message.problem}</Notice>}
      {message.truncated && (view === 'html' || view === 'text') && <Notice>{t.truncated}</Notice>}
      {view === 'html' && message.html !== null && (
        <Frame project={project} id={message.id} remoteImages={remoteImages} />
      )}
      {view === 'text' &&
        (message.text === null ? (
          <EmptyState title={t.noText} />
        ) : (
          <PlainText label={t.views.text}>{message.text}</PlainText>
        ))}
      {view === 'headers' && <Headers headers={message.headers} />}
      {view === 'source' && <Source project={project} id={message.id} />}
    </>
  )
}

function Frame({ project, id, remoteImages }: { project: string; id: string; remoteImages: boolean }) {
  const query = useQuery(mailFrameQuery(project, id, remoteImages))
  if (query.isPending) return <SkeletonList rows={5} />
  if (query.isError) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
  return (
    <iframe
      // A frame with another policy is another frame: nothing loaded under the first stays in it.
      key={query.data}
      title={t.frame}
      sandbox={mailSandbox}
      src={query.data}
      referrerPolicy="no-referrer"
      className="min-h-[60vh] w-full flex-1 bg-white lg:min-h-0"
    />
  )
}

function PlainText({ label, children }: { label: string; children: string }) {
  return (
    <ScrollBox label={label} className="min-h-0 flex-1 overflow-auto bg-surface focus-visible:-outline-offset-2">
      <pre className="px-4 py-4 text-sm leading-5 break-words whitespace-pre-wrap sm:px-6">{children}</pre>
    </ScrollBox>
  )
}

function Headers({ headers }: { headers: Message['headers'] }) {
  return (
    <ScrollBox
      label={t.views.headers}
      className="min-h-0 flex-1 overflow-auto bg-surface focus-visible:-outline-offset-2"
    >
      <dl className="divide-y divide-line font-mono text-sm">
        {headers.map(({ name, value }, index) => (
          <div
            // biome-ignore lint/suspicious/noArrayIndexKey: the order is the identity, names come more than once
            key={index}
            className="grid gap-x-4 px-4 py-1.5 sm:grid-cols-[12rem_minmax(0,1fr)] sm:px-6"
          >
            <dt className="break-words text-ink-2">{name}</dt>
            <dd className="min-w-0 break-words whitespace-pre-wrap [overflow-wrap:anywhere]">{value}</dd>
          </div>
        ))}
      </dl>
    </ScrollBox>
  )
}

function Source({ project, id }: { project: string; id: string }) {
  const query = useQuery(mailSourceQuery(project, id))
  if (query.isPending) return <SkeletonList rows={6} height="h-4" />
  if (query.isError) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
  return (
    <>
      {query.data.cut && <Notice>{t.sourceCut}</Notice>}
      <PlainText label={t.views.source}>{query.data.text}</PlainText>
    </>
  )
}

function Notice({ children }: { children: ReactNode }) {
  return <p className="bg-warn-soft px-4 py-2 text-sm sm:px-6">{children}</p>
}
