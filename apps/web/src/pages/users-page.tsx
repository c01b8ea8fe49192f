import type { UserView } from '@stackquay/contract'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Ellipsis, KeyRound, Plus, ShieldHalf, Trash2, UserRoundCheck, UserRoundX } from 'lucide-react'
import { useState } from 'react'
import { client } from '../api/client.ts'
import { meQuery, usersQuery } from '../api/queries.ts'
import { Button, IconButton } from '../components/button.tsx'
import { ConfirmDialog } from '../components/confirm-dialog.tsx'
import { Consequences } from '../components/consequences.tsx'
import { Dialog } from '../components/dialog.tsx'
import { Loaded } from '../components/loaded.tsx'
import { Menu, MenuItem, MenuSeparator } from '../components/menu.tsx'
import { PageHeader, Panel } from '../components/panel.tsx'
import { Cell, Table } from '../components/table.tsx'
import { TimeAgo } from '../components/time-ago.tsx'
import { toastDone, toastProblem } from '../components/toast.tsx'
import { AccountStatePill } from '../modules/state-pill.tsx'
import { texts } from '../texts/index.ts'
import { PasswordDialog } from './password-dialog.tsx'
import { useTitle } from './use-title.ts'
import { CreateUserForm, NewAccess, type PassOn, ResetPasswordForm, RoleForm } from './user-forms.tsx'

const t = texts.users
type Act = 'role' | 'password' | 'disable' | 'delete'

export function UsersPage() {
  useTitle(t.title)
  const query = useQuery(usersQuery)
  const queries = useQueryClient()
  const me = useQuery(meQuery).data
  const [creating, setCreating] = useState(false)
  const [act, setAct] = useState<{ readonly kind: Act; readonly user: UserView } | null>(null)
  const [passOn, setPassOn] = useState<PassOn | null>(null)
  const users = query.data ?? []
  const admins = users.filter(({ role, disabled }) => role === 'admin' && !disabled)
  const isLastAdmin = (user: UserView) => admins.length === 1 && admins[0]?.id === user.id
  const isMe = (user: UserView) => user.id === me?.userId

  const close = () => setAct(null)
  const changed = async (user: UserView) => {
    await query.refetch()
    if (isMe(user)) await queries.invalidateQueries({ queryKey: meQuery.queryKey })
  }
  const enable = async (user: UserView) => {
    try {
      await client.call('changeUser', { params: { uid: user.id }, body: { disabled: false } })
      await changed(user)
      toastDone(t.enabledDone(user.username))
    } catch (error) {
      toastProblem(error)
    }
  }
  const userFor = (kind: Act) => (act?.kind === kind ? act.user : null)
  const [roleOf, passwordOf, disabling, deleting] = [
    userFor('role'),
    userFor('password'),
    userFor('disable'),
    userFor('delete'),
  ]
  return (
    <div className="flex w-full max-w-6xl flex-col gap-4 px-4 py-5 sm:px-6">
      <PageHeader
        title={t.title}
        detail={t.detail}
        actions={
          query.data !== undefined && (
            <Button icon={Plus} look="primary" onClick={() => setCreating(true)}>
              {t.create}
            </Button>
          )
        }
      />
      <Panel flush>
        <Loaded query={query} rows={3} height="h-9">
          {() => (
            <Table
              label={t.title}
              head={[
                { title: t.columns.name },
                { title: t.columns.role },
                { title: t.columns.state },
                { title: t.columns.created },
                { title: t.columns.actions, hidden: true },
              ]}
            >
              {users.map((user) => (
                <UserRow
                  key={user.id}
                  user={user}
                  me={isMe(user)}
                  lastAdmin={isLastAdmin(user)}
                  onAct={(kind) => setAct({ kind, user })}
                  onEnable={() => void enable(user)}
                />
              ))}
            </Table>
          )}
        </Loaded>
      </Panel>

      <Dialog open={creating} onClose={() => setCreating(false)} title={t.createTitle}>
        <CreateUserForm
          onClose={() => setCreating(false)}
          onCreated={(username, password) => {
            setCreating(false)
            setPassOn({ title: t.createdTitle(username), username, password })
            void query.refetch()
          }}
        />
      </Dialog>
      <Dialog open={roleOf !== null} onClose={close} title={t.roleTitle(roleOf?.username ?? '')}>
        {roleOf !== null && (
          <RoleForm
            user={roleOf}
            self={isMe(roleOf)}
            onClose={close}
            onChanged={async () => {
              await changed(roleOf)
              close()
              toastDone(t.roleChanged(roleOf.username))
            }}
          />
        )}
      </Dialog>
      <Dialog
        open={passwordOf !== null && !isMe(passwordOf)}
        onClose={close}
        title={t.resetTitle(passwordOf?.username ?? '')}
        detail={t.resetDetail}
      >
        {passwordOf !== null && (
          <ResetPasswordForm
            user={passwordOf}
            onClose={close}
            onSet={(password) => {
              close()
              setPassOn({ title: t.passwordSetTitle(passwordOf.username), username: passwordOf.username, password })
            }}
          />
        )}
      </Dialog>
      <PasswordDialog open={passwordOf !== null && isMe(passwordOf)} onClose={close} user={me?.user ?? ''} />
      <Dialog
        open={passOn !== null}
        onClose={() => setPassOn(null)}
        title={passOn?.title ?? ''}
        detail={t.createdDetail}
      >
        {passOn !== null && <NewAccess access={passOn} onClose={() => setPassOn(null)} />}
      </Dialog>
      <ConfirmDialog
        open={disabling !== null}
        onClose={close}
        title={t.disableTitle(disabling?.username ?? '')}
        submit={t.disableSubmit}
        onConfirm={async () => {
          if (disabling === null) return
          await client.call('changeUser', { params: { uid: disabling.id }, body: { disabled: true } })
          await changed(disabling)
          toastDone(t.disabledDone(disabling.username))
        }}
      >
        <Consequences items={t.disableConsequences} />
      </ConfirmDialog>
      <ConfirmDialog
        open={deleting !== null}
        onClose={close}
        title={t.deleteTitle(deleting?.username ?? '')}
        word={deleting?.username}
        submit={t.deleteSubmit}
        onConfirm={async () => {
          if (deleting === null) return
          await client.call('deleteUser', { params: { uid: deleting.id } })
          await changed(deleting)
          toastDone(t.deleted(deleting.username))
        }}
      >
        <Consequences items={t.deleteConsequences} />
      </ConfirmDialog>
    </div>
  )
}

function UserRow({
  user,
  me,
  lastAdmin,
  onAct,
  onEnable,
}: {
  user: UserView
  me: boolean
  lastAdmin: boolean
  onAct: (kind: Act) => void
  onEnable: () => void
}) {
  return (
    <tr className="hover:bg-hover/60">
      <Cell className="min-w-32">
        <span className="font-medium">{user.username}</span>
        {me && <span className="ml-2 rounded-full bg-idle-soft px-1.5 py-0.5 text-xs text-ink-2">{t.you}</span>}
      </Cell>
      <Cell>
        <span title={texts.roles[user.role].help}>{texts.roles[user.role].label}</span>
      </Cell>
      <Cell>
        <AccountStatePill disabled={user.disabled} />
      </Cell>
      <Cell className="text-ink-2">
        <TimeAgo time={user.createdAt} />
      </Cell>
      <Cell end className="py-1">
        <Menu trigger={<IconButton icon={Ellipsis} label={t.actionsOf(user.username)} />}>
          {lastAdmin && <p className="max-w-52 px-2 py-1 text-sm text-ink-2">{t.lastAdmin}</p>}
          <MenuItem icon={ShieldHalf} disabled={lastAdmin} onSelect={() => onAct('role')}>
            {t.changeRole}
          </MenuItem>
          <MenuItem icon={KeyRound} onSelect={() => onAct('password')}>
            {me ? texts.account.changePassword : t.resetPassword}
          </MenuItem>
          {user.disabled ? (
            <MenuItem icon={UserRoundCheck} onSelect={onEnable}>
              {t.enable}
            </MenuItem>
          ) : (
            <MenuItem icon={UserRoundX} disabled={lastAdmin} onSelect={() => onAct('disable')}>
              {t.disable}
            </MenuItem>
          )}
          <MenuSeparator />
          <MenuItem icon={Trash2} danger disabled={lastAdmin} onSelect={() => onAct('delete')}>
            {t.delete}
          </MenuItem>
        </Menu>
      </Cell>
    </tr>
  )
}
