import type { NotificationChannel, NotificationKind } from '@stackquay/contract'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { Bell, Ellipsis, List, Pause, Pencil, Play, Plus, Send, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { client } from '../api/client.ts'
import { notificationsQuery } from '../api/notifications.ts'
import { Button, IconButton } from '../components/button.tsx'
import { ConfirmDialog } from '../components/confirm-dialog.tsx'
import { Dialog } from '../components/dialog.tsx'
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
import { ChannelForm } from './notifications/channel-form.tsx'
import { ChannelMessages } from './notifications/channel-messages.tsx'
import { useTitle } from './use-title.ts'

const t = texts.notifications

/** Where people are told; with a channel in the address, what was sent to it. */
export function NotificationsPage() {
  useTitle(t.title)
  const { channel } = useSearch({ from: '/app/settings/notifications' })
  const query = useQuery(notificationsQuery)
  if (query.isPending) return <SkeletonList rows={4} />
  if (query.isError) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />
  const { items, kinds } = query.data
  const opened = items.find(({ id }) => id === channel)
  return opened === undefined ? <Channels channels={items} kinds={kinds} /> : <ChannelMessages channel={opened} />
}

interface ChannelsProps {
  channels: readonly NotificationChannel[]
  kinds: readonly NotificationKind[]
}

function Channels({ channels, kinds }: ChannelsProps) {
  const queries = useQueryClient()
  const [creating, setCreating] = useState(false)
  const [editing, setEditing] = useState<NotificationChannel | null>(null)
  const [deleting, setDeleting] = useState<NotificationChannel | null>(null)
  const changed = () => queries.invalidateQueries({ queryKey: notificationsQuery.queryKey })
  const close = () => {
    setCreating(false)
    setEditing(null)
  }
  const create = (
    <Button icon={Plus} look="primary" onClick={() => setCreating(true)}>
      {t.create}
    </Button>
  )
  const done = () => {
    close()
    void changed()
  }
  return (
    <div className="flex w-full max-w-6xl flex-col gap-4 px-4 py-5 sm:px-6">
      <PageHeader title={t.title} detail={t.detail} actions={create} />
      <Panel flush>
        {channels.length === 0 ? (
          <EmptyState icon={Bell} title={t.emptyTitle} detail={t.emptyDetail} />
        ) : (
          <Table
            label={t.title}
            head={[
              { title: t.columns.name },
              { title: t.columns.kind },
              { title: t.columns.state },
              { title: t.columns.last },
              { title: t.columns.actions, hidden: true },
            ]}
          >
            {channels.map((channel) => (
              <ChannelRow
                key={channel.id}
                channel={channel}
                kind={kinds.find(({ name }) => name === channel.kind)?.label ?? channel.kind}
                onEdit={() => setEditing(channel)}
                onDelete={() => setDeleting(channel)}
                onChanged={changed}
              />
            ))}
          </Table>
        )}
      </Panel>
      <Dialog open={creating} onClose={close} title={t.createTitle} wide>
        <ChannelForm channel={null} kinds={kinds} onClose={close} onDone={done} />
      </Dialog>
      <Dialog open={editing !== null} onClose={close} title={t.editTitle(editing?.name ?? '')} wide>
        {editing !== null && <ChannelForm channel={editing} kinds={kinds} onClose={close} onDone={done} />}
      </Dialog>
      <ConfirmDialog
        open={deleting !== null}
        onClose={() => setDeleting(null)}
        title={t.deleteTitle(deleting?.name ?? '')}
        detail={t.deleteDetail}
        submit={t.deleteSubmit}
        onConfirm={async () => {
          if (deleting === null) return
          await client.call('deleteNotificationChannel', { params: { channel: deleting.id } })
          await changed()
          toastDone(t.deleted(deleting.name))
        }}
      />
    </div>
  )
}

interface ChannelRowProps {
  channel: NotificationChannel
  kind: string
  onEdit: () => void
  onDelete: () => void
  onChanged: () => Promise<void>
}

function ChannelRow({ channel, kind, onEdit, onDelete, onChanged }: ChannelRowProps) {
  const navigate = useNavigate()
  const { id, name, enabled, lastDelivery } = channel
  const params = { channel: id }
  const attempt = (work: () => Promise<unknown>) => void work().then(onChanged).catch(toastProblem)
  const test = async () => {
    const { state, attempts } = await client.call('testNotificationChannel', { params })
    if (state === 'delivered') return toastDone(t.testDelivered(name))
    toastFailed(t.testFailed(name), attempts.at(-1)?.error ?? '')
  }
  return (
    <tr className="hover:bg-hover/60">
      <Cell className="max-w-80 min-w-44">
        <Link
          to="/settings/notifications"
          search={{ channel: id }}
          className="block truncate rounded font-medium hover:underline"
        >
          {name}
        </Link>
        <code className="block truncate text-ink-3">{channel.address}</code>
      </Cell>
      <Cell className="whitespace-nowrap text-ink-2">{kind}</Cell>
      <Cell>
        <WebhookStatePill enabled={enabled} broken={false} />
      </Cell>
      <Cell className="text-ink-2">
        {lastDelivery === null ? (
          t.neverSent
        ) : (
          <>
            <span className="inline-flex items-center gap-2 whitespace-nowrap">
              <DeliveryStatePill state={lastDelivery.state} />
              <TimeAgo time={lastDelivery.at} />
            </span>
            {lastDelivery.error !== null && (
              <span className="mt-0.5 block max-w-60 break-words text-sm">{lastDelivery.error}</span>
            )}
          </>
        )}
      </Cell>
      <ActionsCell>
        <Menu trigger={<IconButton icon={Ellipsis} label={t.moreOf(name)} />}>
          <MenuItem icon={List} onSelect={() => void navigate({ to: '/settings/notifications', search: params })}>
            {t.messages}
          </MenuItem>
          <MenuItem icon={Send} onSelect={() => attempt(test)}>
            {t.test}
          </MenuItem>
          <MenuItem icon={Pencil} onSelect={onEdit}>
            {t.edit}
          </MenuItem>
          <MenuItem
            icon={enabled ? Pause : Play}
            onSelect={() =>
              attempt(() => client.call('updateNotificationChannel', { params, body: { enabled: !enabled } }))
            }
          >
            {enabled ? t.pause : t.resume}
          </MenuItem>
          <MenuSeparator />
          <MenuItem icon={Trash2} danger onSelect={onDelete}>
            {t.delete}
          </MenuItem>
        </Menu>
      </ActionsCell>
    </tr>
  )
}
