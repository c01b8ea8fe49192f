import type { Webhook } from '@stackquay/contract'
import { client } from '../../api/client.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { toastDone } from '../../components/toast.tsx'
import { texts } from '../../texts/index.ts'
import { WebhookForm } from '../webhook-form.tsx'

const t = texts.webhooks

export interface WebhookAct {
  readonly kind: 'edit' | 'rotate' | 'delete'
  readonly hook: Webhook
}

interface WebhookDialogsProps {
  /** What is to be done to which; null for nothing. */
  act: WebhookAct | null
  onClose: () => void
  onChanged: () => Promise<void>
  /** Takes a new secret, to be shown once. */
  onSecret: (secret: string) => void
}

export function WebhookDialogs({ act, onClose, onChanged, onSecret }: WebhookDialogsProps) {
  const hookFor = (kind: WebhookAct['kind']) => (act?.kind === kind ? act.hook : null)
  const [editing, rotating, deleting] = [hookFor('edit'), hookFor('rotate'), hookFor('delete')]
  return (
    <>
      <Dialog open={editing !== null} onClose={onClose} title={t.editTitle(editing?.name ?? '')} wide>
        {editing !== null && (
          <WebhookForm
            hook={editing}
            onClose={onClose}
            onDone={() => {
              onClose()
              void onChanged()
            }}
          />
        )}
      </Dialog>
      <ConfirmDialog
        open={rotating !== null}
        onClose={onClose}
        title={t.rotateTitle(rotating?.name ?? '')}
        detail={t.rotateDetail}
        submit={t.rotateSubmit}
        look="primary"
        onConfirm={async () => {
          if (rotating === null) return
          const made = await client.call('rotateWebhookSecret', { params: { hook: rotating.id } })
          onSecret(made.secret)
          await onChanged()
        }}
      />
      <ConfirmDialog
        open={deleting !== null}
        onClose={onClose}
        title={t.deleteTitle(deleting?.name ?? '')}
        detail={t.deleteDetail}
        submit={t.deleteSubmit}
        onConfirm={async () => {
          if (deleting === null) return
          await client.call('deleteWebhook', { params: { hook: deleting.id } })
          await onChanged()
          toastDone(t.deleted(deleting.name))
        }}
      />
    </>
  )
}
