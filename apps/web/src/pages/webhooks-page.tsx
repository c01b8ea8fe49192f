import type { Webhook } from '@stackquay/contract'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { Ellipsis, KeyRound, List, Pause, Pencil, Play, Plus, Send, Trash2, Webhook as WebhookIcon } from 'lucide-react'
import { useState } from 'react'
import { client } from '../api/client.ts'
import { webhooksQuery } from '../api/webhooks.ts'
import { Button, IconButton } from '../components/button.tsx'
import { CodeBlock } from '../components/code-block.tsx'
import { Dialog, DialogActions } from '../components/dialog.tsx'
import { EmptyState } from '../components/empty-state.tsx'
import { ErrorState } from '../components/error-state.tsx'
import { Menu, MenuItem, MenuSeparator } from '../components/menu.tsx'
import { PageHeader, Panel } from '../components/panel.tsx'
import { SkeletonList } from '../components/skeleton.tsx'
import { ActionsCell, Cell, Table } from '../components/table.tsx'
import { TimeAgo } from '../components/time-ago.tsx'
import { toastDone, toastFailed, toastProblem } from '../components/toast.tsx'
import { DeliveryStatePill, WebhookStatePill } from '../modules/state-pill.tsx'
import { texts } from '../texts/index.ts'
import { useTitle } from './use-title.ts'
import { WebhookDeliveries } from './webhook-deliveries.tsx'
import { WebhookForm } from './webhook-form.tsx'
import { type WebhookAct, WebhookDialogs } from './webhooks/webhook-dialogs.tsx'

const t = texts.webhooks

/** Where events are sent; with a webhook in the address, what was sent to it. */
export function WebhooksPage() {
  useTitle(t.title)
  const { hook } = useSearch({ from: '/app/settings/webhooks' })
  const query = useQuery(webhooksQuery)
  if (query.isPending) return <SkeletonList rows={4} />
  if (query.isError) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
  const opened = query.data.find(({ id }) => id === hook)
  return opened === undefined ? <Webhooks hooks={query.data} /> : <WebhookDeliveries hook={opened} />
}

function Webhooks({ hooks }: { hooks: readonly Webhook[] }) {
  const queries = useQueryClient()
  const [creating, setCreating] = useState(false)
  const [act, setAct] = useState<WebhookAct | null>(null)
  const [secret, setSecret] = useState<string | null>(null)
  const changed = () => queries.invalidateQueries({ queryKey: webhooksQuery.queryKey })
  return (
    <div className="flex w-full max-w-6xl flex-col gap-4 px-4 py-5 sm:px-6">
      <PageHeader
        title={t.title}
        detail={t.detail}
        actions={
          <Button icon={Plus} look="primary" onClick={() => setCreating(true)}>
            {t.create}
          </Button>
        }
      />
      <Panel flush>
        {hooks.length === 0 ? (
          <EmptyState icon={WebhookIcon} title={t.emptyTitle} detail={t.emptyDetail} />
        ) : (
          <Table
            label={t.title}
            head={[
              { title: t.columns.name },
              { title: t.columns.state },
              { title: t.columns.events },
              { title: t.columns.last },
              { title: t.columns.actions, hidden: true },
            ]}
          >
            {hooks.map((hook) => (
              <WebhookRow key={hook.id} hook={hook} onAct={(kind) => setAct({ kind, hook })} onChanged={changed} />
            ))}
          </Table>
        )}
      </Panel>

      <Dialog open={creating} onClose={() => setCreating(false)} title={t.createTitle} wide>
        <WebhookForm
          hook={null}
          onClose={() => setCreating(false)}
          onDone={(made) => {
            setCreating(false)
            if (made !== null) setSecret(made)
            void changed()
          }}
        />
      </Dialog>
      <WebhookDialogs act={act} onClose={() => setAct(null)} onChanged={changed} onSecret={setSecret} />
      <Dialog open={secret !== null} onClose={() => setSecret(null)} title={t.secretTitle} detail={t.secretDetail} wide>
        {secret !== null && <CodeBlock code={secret} label={t.secret} wrap />}
        <DialogActions>
          <Button look="primary" onClick={() => setSecret(null)}>
            {texts.common.done}
          </Button>
        </DialogActions>
      </Dialog>
    </div>
  )
}

function WebhookRow({
  hook,
  onAct,
  onChanged,
}: {
  hook: Webhook
  onAct: (act: WebhookAct['kind']) => void
  onChanged: () => Promise<void>
}) {
  const navigate = useNavigate()
  const attempt = (work: () => Promise<unknown>) => void work().then(onChanged).catch(toastProblem)
  const test = async () => {
    const { state, attempts } = await client.call('testWebhook', { params: { hook: hook.id } })
    const last = attempts.at(-1)
    if (state === 'delivered') return toastDone(t.testDelivered(hook.name))
    const why = last?.error ?? (last?.status == null ? '' : t.status(last.status))
    toastFailed(t.testFailed(hook.name), why)
  }
  const enable = (enabled: boolean) => client.call('updateWebhook', { params: { hook: hook.id }, body: { enabled } })
  return (
    <tr className="hover:bg-hover/60">
      <Cell className="max-w-80 min-w-44">
        <Link
          to="/settings/webhooks"
          search={{ hook: hook.id }}
          className="block truncate rounded font-medium hover:underline"
        >
          {hook.name}
        </Link>
        <code className="block truncate text-ink-3">{hook.url}</code>
      </Cell>
      <Cell>
        <WebhookStatePill enabled={hook.enabled} broken={hook.disabledReason !== null} />
        {!hook.enabled && hook.disabledReason !== null && (
          <span className="mt-0.5 block max-w-60 text-sm text-ink-2">{hook.disabledReason}</span>
        )}
      </Cell>
      <Cell className="whitespace-nowrap text-ink-2">{t.eventCount(hook.events.length)}</Cell>
      <Cell className="whitespace-nowrap text-ink-2">
        {hook.lastDelivery === null ? (
          t.neverSent
        ) : (
          <span className="inline-flex items-center gap-2">
            {isDeliveryState(hook.lastDelivery.state) && <DeliveryStatePill state={hook.lastDelivery.state} />}
            <TimeAgo time={hook.lastDelivery.at} />
          </span>
        )}
      </Cell>
      <ActionsCell>
        <Menu trigger={<IconButton icon={Ellipsis} label={t.moreOf(hook.name)} />}>
          <MenuItem icon={List} onSelect={() => void navigate({ to: '/settings/webhooks', search: { hook: hook.id } })}>
            {t.deliveries}
          </MenuItem>
          <MenuItem icon={Send} onSelect={() => attempt(test)}>
            {t.test}
          </MenuItem>
          <MenuItem icon={Pencil} onSelect={() => onAct('edit')}>
            {t.edit}
          </MenuItem>
          <MenuItem icon={hook.enabled ? Pause : Play} onSelect={() => attempt(() => enable(!hook.enabled))}>
            {hook.enabled ? t.pause : t.resume}
          </MenuItem>
          <MenuItem icon={KeyRound} onSelect={() => onAct('rotate')}>
            {t.rotate}
          </MenuItem>
          <MenuSeparator />
          <MenuItem icon={Trash2} danger onSelect={() => onAct('delete')}>
            {t.delete}
          </MenuItem>
        </Menu>
      </ActionsCell>
    </tr>
  )
}

function isDeliveryState(state: string): state is keyof typeof t.states {
  return Object.hasOwn(t.states, state)
}
