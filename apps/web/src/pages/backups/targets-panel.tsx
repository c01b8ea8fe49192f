import type { BackupTarget } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { CircleCheck, Ellipsis, HardDriveUpload, List, Plus, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { targetsQuery } from '../../api/backup-targets.ts'
import { client } from '../../api/client.ts'
import { queryClient } from '../../api/query-client.ts'
import { Button, IconButton } from '../../components/button.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Dialog, DialogActions } from '../../components/dialog.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Menu, MenuItem, MenuSeparator } from '../../components/menu.tsx'
import { Panel } from '../../components/panel.tsx'
import { ActionsCell, Cell, Table } from '../../components/table.tsx'
import { TimeAgo } from '../../components/time-ago.tsx'
import { toastDone, toastProblem } from '../../components/toast.tsx'
import { texts } from '../../texts/index.ts'
import { TargetBackups } from './target-backups.tsx'
import { TargetForm } from './target-form.tsx'

const t = texts.backupTargets

interface TargetAct {
  readonly do: 'browse' | 'remove'
  readonly target: BackupTarget
}

/** Where backups are copied to. */
export function TargetsPanel() {
  const query = useQuery(targetsQuery)
  const [adding, setAdding] = useState(false)
  const [passphrase, setPassphrase] = useState<string | null>(null)
  const [act, setAct] = useState<TargetAct | null>(null)
  const changed = () => queryClient.invalidateQueries({ queryKey: targetsQuery.queryKey })
  return (
    <Panel
      flush
      title={t.title}
      detail={t.detail}
      actions={
        <Button icon={Plus} onClick={() => setAdding(true)}>
          {t.add}
        </Button>
      }
    >
      <Loaded query={query} rows={2}>
        {(targets) =>
          targets.length === 0 ? (
            <EmptyState icon={HardDriveUpload} title={t.emptyTitle} detail={t.emptyDetail} />
          ) : (
            <TargetTable targets={targets} onAct={setAct} onChanged={changed} />
          )
        }
      </Loaded>
      <Dialog open={adding} onClose={() => setAdding(false)} title={t.addTitle} detail={t.addDetail} wide>
        <TargetForm
          onClose={() => setAdding(false)}
          onDone={(made) => {
            setAdding(false)
            setPassphrase(made)
            void changed()
          }}
        />
      </Dialog>
      <PassphraseDialog passphrase={passphrase} onClose={() => setPassphrase(null)} />
      <Dialog
        open={act?.do === 'browse'}
        onClose={() => setAct(null)}
        title={t.browseTitle(act?.target.name ?? '')}
        detail={t.browseDetail}
        wide
      >
        {act !== null && <TargetBackups target={act.target} onClose={() => setAct(null)} />}
      </Dialog>
      <ConfirmDialog
        open={act?.do === 'remove'}
        onClose={() => setAct(null)}
        title={t.removeTitle(act?.target.name ?? '')}
        detail={t.removeDetail}
        submit={t.removeSubmit}
        onConfirm={async () => {
          if (act === null) return
          await client.call('deleteBackupTarget', { params: { target: act.target.id } })
          toastDone(t.removed(act.target.name))
          await changed()
        }}
      />
    </Panel>
  )
}

interface TargetTableProps {
  targets: readonly BackupTarget[]
  onAct: (act: TargetAct) => void
  onChanged: () => Promise<void>
}

function TargetTable({ targets, onAct, onChanged }: TargetTableProps) {
  return (
    <Table
      label={t.title}
      head={[
        { title: t.columns.name },
        { title: t.columns.copies, end: true },
        { title: t.columns.checked },
        { title: t.columns.actions, hidden: true },
      ]}
    >
      {targets.map((target) => (
        <tr key={target.id} className="hover:bg-hover/60">
          <Cell className="max-w-96 min-w-44">
            <span className="block truncate font-medium">{target.name}</span>
            <code className="block truncate text-ink-3">{target.place}</code>
          </Cell>
          <Cell end className="numbers">
            {target.copies}
          </Cell>
          <Cell className="whitespace-nowrap text-ink-2">
            <TimeAgo time={target.checkedAt} />
          </Cell>
          <ActionsCell>
            <Menu trigger={<IconButton icon={Ellipsis} label={t.moreOf(target.name)} />}>
              <MenuItem icon={List} onSelect={() => onAct({ do: 'browse', target })}>
                {t.browse}
              </MenuItem>
              <MenuItem icon={CircleCheck} onSelect={() => void check(target).then(onChanged).catch(toastProblem)}>
                {t.check}
              </MenuItem>
              <MenuSeparator />
              <MenuItem icon={Trash2} danger onSelect={() => onAct({ do: 'remove', target })}>
                {t.remove}
              </MenuItem>
            </Menu>
          </ActionsCell>
        </tr>
      ))}
    </Table>
  )
}

async function check({ id, name }: BackupTarget): Promise<void> {
  await client.call('checkBackupTarget', { params: { target: id }, body: {} })
  toastDone(t.checkedWell(name))
}

function PassphraseDialog({ passphrase, onClose }: { passphrase: string | null; onClose: () => void }) {
  return (
    <Dialog open={passphrase !== null} onClose={onClose} title={t.passphraseTitle} detail={t.passphraseDetail} wide>
      {passphrase !== null && <CodeBlock code={passphrase} label={t.passphrase} wrap />}
      <DialogActions>
        <Button look="primary" onClick={onClose}>
          {texts.common.done}
        </Button>
      </DialogActions>
    </Dialog>
  )
}
