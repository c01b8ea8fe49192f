import type { Webhook, WebhookDelivery } from '@stackquay/contract'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ArrowLeft, ChevronRight, RotateCw, Send } from 'lucide-react'
import { useState } from 'react'
import { client } from '../api/client.ts'
import { deliveriesQuery } from '../api/webhooks.ts'
import { Button, buttonClass } from '../components/button.tsx'
import { CodeBlock } from '../components/code-block.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { Loaded } from '../components/loaded.tsx'
import { MoreButton } from '../components/more-button.tsx'
import { PageHeader, Panel } from '../components/panel.tsx'
import { TimeAgo } from '../components/time-ago.tsx'
import { toastDone, toastProblem } from '../components/toast.tsx'
import { formatDateTime, formatElapsed } from '../lib/format.ts'
import { DeliveryStatePill } from '../modules/state-pill.tsx'
import { texts } from '../texts/index.ts'

const t = texts.webhooks

/** What was sent to one webhook, newest first, with every attempt. */
export function WebhookDeliveries({ hook }: { hook: Webhook }) {
  const query = useInfiniteQuery(deliveriesQuery(hook.id))
  const deliveries = query.data?.pages.flatMap((page) => page.items) ?? []
  return (
    <div className="flex w-full max-w-6xl flex-col gap-4 px-4 py-5 sm:px-6">
      <PageHeader
        title={t.deliveriesOf(hook.name)}
        detail={<code className="break-all">{hook.url}</code>}
        actions={
          <>
            <Button icon={RotateCw} busy={query.isRefetching} onClick={() => void query.refetch()}>
              {texts.common.refresh}
            </Button>
            <Link to="/settings/webhooks" search={{}} className={buttonClass()}>
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
              <EmptyState icon={Send} title={t.noDeliveries} detail={t.noDeliveriesDetail} />
            ) : (
              <ul aria-label={t.deliveries} className="divide-y divide-line">
                {deliveries.map((delivery) => (
                  <Delivery key={delivery.id} delivery={delivery} onSent={() => void query.refetch()} />
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

function Delivery({ delivery, onSent }: { delivery: WebhookDelivery; onSent: () => void }) {
  const [open, setOpen] = useState(false)
  const [busy, setBusy] = useState(false)
  const again = async () => {
    setBusy(true)
    try {
      await client.call('redeliver', { params: { hook: delivery.webhook, delivery: delivery.id } })
      toastDone(t.redelivered)
      onSent()
    } catch (error) {
      toastProblem(error)
    } finally {
      setBusy(false)
    }
  }
  return (
    <li className="px-4 py-2">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <button
          type="button"
          aria-expanded={open}
          onClick={() => setOpen(!open)}
          className="inline-flex min-h-7 min-w-0 items-center gap-1.5 rounded pr-1 text-left hover:underline"
        >
          <ChevronRight aria-hidden className={open ? 'size-3.5 shrink-0 rotate-90' : 'size-3.5 shrink-0'} />
          <code className="truncate">{delivery.type}</code>
          <span className="sr-only">: {t.show(delivery.id)}</span>
        </button>
        <DeliveryStatePill state={delivery.state} />
        <span className="ml-auto text-sm text-ink-2">
          <TimeAgo time={delivery.createdAt} />
        </span>
        <Button icon={Send} size="sm" busy={busy} onClick={() => void again()}>
          {t.redeliver}
          <span className="sr-only">: {delivery.id}</span>
        </Button>
      </div>
      {open && (
        <div className="mt-2 mb-1 flex min-w-0 flex-col gap-3">
          <div>
            <h2 className="mb-1 text-sm font-medium">{t.attempts}</h2>
            {delivery.attempts.length === 0 && <p className="text-sm text-ink-2">{t.noAttempt}</p>}
            <ol className="flex flex-col gap-0.5 text-sm text-ink-2">
              {delivery.attempts.map((attempt) => (
                <li key={attempt.at} className="numbers flex flex-wrap gap-x-3">
                  <span>{formatDateTime(attempt.at)}</span>
                  {attempt.status !== null && <span>{t.status(attempt.status)}</span>}
                  {attempt.error !== null && <span className="break-words text-bad">{attempt.error}</span>}
                  <span>{formatElapsed(attempt.durationSeconds * 1000)}</span>
                </li>
              ))}
            </ol>
            {delivery.nextAttemptAt !== null && (
              <p className="text-sm text-ink-2">
                {t.nextAttempt}: <TimeAgo time={delivery.nextAttemptAt} />
              </p>
            )}
          </div>
          <div>
            <h2 className="mb-1 text-sm font-medium">{t.payload}</h2>
            <CodeBlock code={JSON.stringify(delivery.payload, null, 2)} label={t.payload} />
          </div>
        </div>
      )}
    </li>
  )
}
