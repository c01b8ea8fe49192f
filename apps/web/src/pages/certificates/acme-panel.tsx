import type { Acme, AcmeOrder } from '@stackquay/contract'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { BadgeCheck, Ellipsis, Pencil, Power, RotateCw } from 'lucide-react'
import { useState } from 'react'
import { acmeQuery } from '../../api/acme.ts'
import { client } from '../../api/client.ts'
import { Button, IconButton } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Menu, MenuItem, MenuSeparator } from '../../components/menu.tsx'
import { Panel } from '../../components/panel.tsx'
import { ActionsCell, Cell, Table } from '../../components/table.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { toastDone, toastProblem } from '../../components/toast.tsx'
import { AcmeOrderPill } from '../../modules/state-pill.tsx'
import { texts } from '../../texts/index.ts'
import { AcmeForm } from './acme-form.tsx'

const t = texts.acme

/** Which authority gives certificates, how far each name is, and why one fails. */
export function AcmePanel() {
  const query = useQuery(acmeQuery)
  const queries = useQueryClient()
  const [editing, setEditing] = useState(false)
  const [ending, setEnding] = useState(false)
  const changed = () => queries.invalidateQueries({ queryKey: ['tls'] })
  const retry = (name?: string) =>
    void client
      .call('renewAcme', { query: name === undefined ? {} : { name } })
      .then(changed)
      .then(() => toastDone(t.asked))
      .catch(toastProblem)
  const acme = query.data
  return (
    <Panel
      flush
      title={t.title}
      detail={acme?.settings == null ? t.detail : t.summary(authorityOf(acme), t.challenges[acme.settings.challenge])}
      actions={
        acme?.settings == null ? undefined : (
          <Menu trigger={<IconButton icon={Ellipsis} label={t.more} />}>
            <MenuItem icon={Pencil} onSelect={() => setEditing(true)}>
              {t.change}
            </MenuItem>
            <MenuItem icon={RotateCw} onSelect={() => retry()}>
              {t.tryNow}
            </MenuItem>
            <MenuSeparator />
            <MenuItem icon={Power} danger onSelect={() => setEnding(true)}>
              {t.off}
            </MenuItem>
          </Menu>
        )
      }
    >
      <Loaded query={query} rows={2} height="h-9">
        {(data) =>
          data.settings === null ? (
            <EmptyState icon={BadgeCheck} title={t.emptyTitle} detail={t.emptyDetail}>
              <Button look="primary" onClick={() => setEditing(true)}>
                {t.setUp}
              </Button>
            </EmptyState>
          ) : (
            <Orders orders={data.orders} onRenew={retry} />
          )
        }
      </Loaded>
      {acme !== undefined && (
        <Dialog open={editing} onClose={() => setEditing(false)} title={t.formTitle} wide>
          <AcmeForm
            acme={acme}
            onClose={() => setEditing(false)}
            onDone={() => {
              setEditing(false)
              void changed()
            }}
          />
        </Dialog>
      )}
      <ConfirmDialog
        open={ending}
        onClose={() => setEnding(false)}
        title={t.offTitle}
        detail={t.offDetail}
        submit={t.offSubmit}
        onConfirm={async () => {
          await client.call('deleteAcme', {})
          await changed()
        }}
      />
    </Panel>
  )
}

function authorityOf({ settings }: Acme): string {
  const directory = settings?.directory ?? ''
  return Object.hasOwn(t.authorities, directory) ? t.authorities[directory as keyof typeof t.authorities] : directory
}

function Orders({ orders, onRenew }: { orders: readonly AcmeOrder[]; onRenew: (name: string) => void }) {
  if (orders.length === 0) return <EmptyState icon={BadgeCheck} title={t.noNames} detail={t.noNamesDetail} />
  return (
    <Table
      label={t.title}
      head={[
        { title: t.columns.name },
        { title: t.columns.state },
        { title: t.columns.next },
        { title: t.columns.actions, hidden: true },
      ]}
    >
      {orders.map(({ name, state, nextAttempt, failure }) => (
        <tr key={name} className="hover:bg-hover/60">
          <Cell className="max-w-96 min-w-40">
            <span className="block break-all">{name}</span>
            {failure !== null && <span className="mt-0.5 block text-sm break-words text-bad">{failure.detail}</span>}
          </Cell>
          <Cell>
            <AcmeOrderPill state={state} />
          </Cell>
          <Cell className="whitespace-nowrap text-ink-2">{nextAttempt !== null && <TimeAgo time={nextAttempt} />}</Cell>
          <ActionsCell>
            <IconButton icon={RotateCw} label={t.renew(name)} onClick={() => onRenew(name)} />
          </ActionsCell>
        </tr>
      ))}
    </Table>
  )
}
