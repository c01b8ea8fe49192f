import type { NotificationChannel, NotificationDelivery } from '@stackquay/contract'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ArrowLeft, RotateCw, Send } from 'lucide-react'
import { notificationDeliveriesQuery } from '../../api/notifications.ts'
import { Button, buttonClass } from '../../components/button.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { MoreButton } from '../../components/more-button.tsx'
import { PageHeader, Panel } from '../../components/panel.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { formatDateTime } from '../../lib/format.ts'
import { DeliveryStatePill } from '../../modules/state-pill.tsx'
import { texts } from '../../texts/index.ts'

const t = texts.notifications

/** What was sent to one channel, newest first, and how the last attempt went. */
export function ChannelMessages({ channel }: { channel: NotificationChannel }) {
  const query = useInfiniteQuery(notificationDeliveriesQuery(channel.id))
  const deliveries = query.data?.pages.flatMap((page) => page.items) ?? []
  return (
    <div className="flex w-full max-w-6xl flex-col gap-4 px-4 py-5 sm:px-6">
      <PageHeader
        title={t.messagesOf(channel.name)}
        detail={<code className="break-all">{channel.address}</code>}
        actions={
          <>
            <Button icon={RotateCw} busy={query.isRefetching} onClick={() => void query.refetch()}>
              {texts.common.refresh}
            </Button>
            <Link to="/settings/notifications" search={{}} className={buttonClass()}>
              <ArrowLeft aria-hidden className="size-3.5" />
              {t.back}
            </Link>
          </>
        }
      />
      <Panel flush>
        <Loaded query={query} rows={4} height="h-9">
          {() =>
            deliveries.length === 0 ? (
              <EmptyState icon={Send} title={t.noMessages} detail={t.noMessagesDetail} />
            ) : (
              <ul aria-label={t.messages} className="divide-y divide-line">
                {deliveries.map((delivery) => (
                  <Message key={delivery.id} delivery={delivery} />
                ))}
              </ul>
            )
          }
        </Loaded>
        <MoreButton query={query} />
      </Panel>
    </div>
  )
}

function Message({ delivery }: { delivery: NotificationDelivery }) {
  const { title, text, state, attempts, nextAttemptAt, createdAt } = delivery
  const error = attempts.at(-1)?.error ?? null
  return (
    <li className="flex flex-col gap-1 px-4 py-2.5">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <span className="min-w-0 flex-1 basis-60 font-medium break-words">{title}</span>
        <DeliveryStatePill state={state} />
        <span className="text-sm text-ink-2">{t.attempts(attempts.length)}</span>
        <span className="text-sm text-ink-2">
          <TimeAgo time={createdAt} />
        </span>
      </div>
      {text !== '' && <p className="text-sm break-words whitespace-pre-line text-ink-2">{text}</p>}
      {error !== null && <p className="text-sm break-words text-bad">{error}</p>}
      {nextAttemptAt !== null && (
        <p className="text-sm text-ink-2">
          {t.nextAttempt}: {formatDateTime(nextAttemptAt)}
        </p>
      )}
    </li>
  )
}
