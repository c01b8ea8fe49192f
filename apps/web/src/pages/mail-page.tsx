import type { ProjectView } from '@stackquay/contract'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { Inbox, MailOpen, MailX, Paperclip, Search, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { emptyInbox, mailQuery } from '../api/mail.ts'
import { servicesQuery } from '../api/queries.ts'
import { Button, buttonClass } from '../components/button.tsx'
import { cx } from '../components/class-names.ts'
import { ConfirmDialog } from '../components/confirm-dialog.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { ErrorState } from '../components/error-state.tsx'
import { MoreButton } from '../components/more-button.tsx'
import { SkeletonList } from '../components/skeleton.tsx'
import { TimeAgo } from '../components/time-ago.tsx'
import { toastDone } from '../components/toast.tsx'
import { useDebounced } from '../components/use-debounced.ts'
import { MailMessage } from '../modules/mail-message.tsx'
import { isEnabled, type ServiceType } from '../modules/service-type.ts'
import { texts } from '../texts/index.ts'
import { useProject } from './use-project.ts'
import { useTitle } from './use-title.ts'

const t = texts.mail

export function MailPage() {
  const project = useProject()
  useTitle(project.name, texts.project.tabs.mail)
  const services = useQuery(servicesQuery(project.engine))
  if (services.isPending) return <SkeletonList rows={5} />
  if (services.isError) return <ErrorState error={services.error} onRetry={() => void services.refetch()} />
  const catcher = services.data.items.find((type) => type.hasInbox && isEnabled(project, type))
  if (catcher === undefined) {
    return (
      <EmptyState icon={MailX} title={t.notInUse} detail={t.notInUseDetail}>
        <Link to="/projects/$project/services" params={{ project: project.slug }} className={buttonClass()}>
          {t.toServices}
        </Link>
      </EmptyState>
    )
  }
  return <CatcherInbox key={project.id} project={project} catcher={catcher} />
}

/** Mails are read from the catcher itself: while it does not run nothing can be read. */
function CatcherInbox({ project, catcher }: { project: ProjectView; catcher: ServiceType }) {
  const workload = project.status.workloads.find((item) => item.kind === 'service' && item.name === catcher.name)
  if (workload !== undefined && !['running', 'unhealthy'].includes(workload.state)) {
    return <EmptyState icon={MailX} title={t.notRunning(catcher.label)} detail={t.notRunningDetail} />
  }
  return <MailInbox project={project} />
}

type MailPages = NonNullable<ReturnType<typeof useMails>['data']>
type Mail = MailPages['pages'][number]['items'][number]

function useMails(project: string, q: string) {
  return useInfiniteQuery({ ...mailQuery(project, q), placeholderData: (before) => before })
}

function MailInbox({ project }: { project: ProjectView }) {
  const navigate = useNavigate()
  const { message } = useSearch({ from: '/app/projects/$project/mail' })
  const [search, setSearch] = useState('')
  const [emptying, setEmptying] = useState(false)
  const q = useDebounced(search.trim(), 200)
  const query = useMails(project.id, q)
  const newest = query.data?.pages[0]
  const mails = query.data?.pages.flatMap((page) => page.items) ?? []
  const open = (id: string | undefined) =>
    navigate({
      to: '/projects/$project/mail',
      params: { project: project.slug },
      search: id === undefined ? {} : { message: id },
    })
  return (
    <section
      aria-label={texts.project.tabs.mail}
      className="grid min-h-0 flex-1 lg:h-[calc(100dvh-6.3125rem)] lg:flex-none lg:grid-cols-[minmax(18rem,24rem)_minmax(0,1fr)]"
    >
      <div
        className={cx(
          'flex min-h-0 min-w-0 flex-col border-line bg-surface lg:border-r',
          message !== undefined && 'max-lg:hidden',
        )}
      >
        <InboxHeader
          search={search}
          onSearch={setSearch}
          counted={newest ? t.count(newest.total, newest.unread) : texts.common.loading}
          empty={mails.length === 0 && q === ''}
          onEmpty={() => setEmptying(true)}
        />
        <div className="scroll-thin min-h-0 flex-1 overflow-y-auto">
          {query.isPending ? (
            <SkeletonList rows={5} height="h-14" />
          ) : query.isError && newest === undefined ? (
            <ErrorState error={query.error} onRetry={() => void query.refetch()} />
          ) : mails.length === 0 ? (
            <EmptyState
              icon={Inbox}
              title={q === '' ? t.none : t.noMatch}
              detail={q === '' ? t.noneDetail : undefined}
            />
          ) : (
            <>
              <ul aria-label={t.list} className="divide-y divide-line">
                {mails.map((mail) => (
                  <MailRow key={mail.id} project={project} mail={mail} chosen={mail.id === message} />
                ))}
              </ul>
              <MoreButton query={query} />
            </>
          )}
        </div>
      </div>
      <div className={cx('flex min-h-0 min-w-0 flex-col', message === undefined && 'max-lg:hidden')}>
        {message === undefined ? (
          <div className="m-auto">
            <EmptyState icon={MailOpen} title={t.choose} />
          </div>
        ) : (
          <MailMessage key={message} project={project.id} id={message} onLeave={() => void open(undefined)} />
        )}
      </div>
      <ConfirmDialog
        open={emptying}
        onClose={() => setEmptying(false)}
        title={t.emptyConfirm}
        detail={t.emptyDetail}
        submit={t.emptySubmit}
        onConfirm={async () => {
          await emptyInbox(project.id)
          toastDone(t.emptied)
          await open(undefined)
        }}
      />
    </section>
  )
}

interface InboxHeaderProps {
  search: string
  onSearch: (search: string) => void
  /** How many there are, in words. */
  counted: string
  empty: boolean
  onEmpty: () => void
}

function InboxHeader({ search, onSearch, counted, empty, onEmpty }: InboxHeaderProps) {
  return (
    <div className="flex flex-wrap items-center gap-2 border-b border-line px-4 py-2 sm:px-6 lg:px-4">
      <h2 className="sr-only">{t.title}</h2>
      <label className="relative min-w-0 flex-1 basis-36">
        <span className="sr-only">{t.search}</span>
        <Search aria-hidden className="pointer-events-none absolute top-2 left-2.5 size-4 text-ink-3" />
        <input
          type="search"
          value={search}
          maxLength={200}
          placeholder={t.searchPlaceholder}
          onChange={(event) => onSearch(event.target.value)}
          className="h-8 w-full rounded-md border border-line-strong/60 bg-surface pr-2 pl-8 focus-visible:outline-offset-0"
        />
      </label>
      <Button icon={Trash2} disabled={empty} onClick={onEmpty}>
        {t.empty}
      </Button>
      <p role="status" className="numbers w-full text-sm text-ink-3">
        {counted}
      </p>
    </div>
  )
}

function MailRow({ project, mail, chosen }: { project: ProjectView; mail: Mail; chosen: boolean }) {
  return (
    <li>
      <Link
        to="/projects/$project/mail"
        params={{ project: project.slug }}
        search={{ message: mail.id }}
        aria-current={chosen ? 'true' : undefined}
        className={cx(
          'grid grid-cols-[0.5rem_minmax(0,1fr)] gap-x-2.5 px-4 py-2.5 focus-visible:-outline-offset-2 sm:px-6 lg:px-4',
          chosen ? 'bg-accent-soft' : 'hover:bg-hover',
        )}
      >
        <span className="pt-1.5">
          {!mail.read && (
            <>
              <span aria-hidden className="block size-2 rounded-full bg-accent-ink" />
              <span className="sr-only">{t.unread}</span>
            </>
          )}
        </span>
        <span className="min-w-0">
          <span className="flex items-baseline justify-between gap-3">
            <span className={cx('min-w-0 truncate', mail.read ? 'text-ink-2' : 'font-semibold')}>
              {mail.from === null ? t.noSender : mail.from.name || mail.from.address}
            </span>
            <span className="shrink-0 text-sm text-ink-2">
              <TimeAgo time={mail.receivedAt} />
            </span>
          </span>
          <span className="flex items-center gap-1.5">
            <span className={cx('min-w-0 truncate', !mail.read && 'font-medium')}>{mail.subject || t.noSubject}</span>
            {mail.attachmentCount > 0 && (
              <>
                <Paperclip aria-hidden className="size-3.5 shrink-0 text-ink-3" />
                <span className="sr-only">{t.attachments(mail.attachmentCount)}</span>
              </>
            )}
          </span>
          <span className="block truncate text-sm text-ink-2">{mail.snippet}</span>
        </span>
      </Link>
    </li>
  )
}
