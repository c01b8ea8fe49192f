import type { UserView } from '@stackquay/contract'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import {
  Ellipsis,
  Fingerprint,
  KeyRound,
  Link2,
  Plus,
  ShieldHalf,
  Trash2,
  UserRoundCheck,
  UserRoundX,
} from 'lucide-react'
import { useState } from 'react'
import { client } from '../api/client.ts'
import { meQuery, usersQuery } from '../api/queries.ts'
import { Button, IconButton } from '../components/button.tsx'
import { Dialog } from '../components/dialog.tsx'
import { Loaded } from '../components/loaded.tsx'
import { Menu, MenuItem, MenuSeparator } from '../components/menu.tsx'
import { PageHeader, Panel } from '../components/panel.tsx'
import { ActionsCell, Cell, Table } from '../components/table.tsx'
import { TimeAgo } from '../components/time-ago.tsx'
import { toastDone, toastProblem } from '../components/toast.tsx'
import { roleAt } from '../lib/rights.ts'
import { AccountStatePill } from '../modules/state-pill.tsx'
import { texts } from '../texts/index.ts'
import { useTitle } from './use-title.ts'
import { CreateUserForm, NewAccess, type PassOn } from './user-forms.tsx'
import { linkFor, type UserAct, UserDialogs } from './users/user-dialogs.tsx'

const t = texts.users

export function UsersPage() {
  useTitle(t.title)
  const query = useQuery(usersQuery)
  const queries = useQueryClient()
  const me = useQuery(meQuery).data
  const [creating, setCreating] = useState(false)
  const [act, setAct] = useState<UserAct | null>(null)
  const [passOn, setPassOn] = useState<PassOn | null>(null)
  const users = query.data ?? []

  const changed = async (user: UserView) => {
    await query.refetch()
    if (user.id === me?.userId) await queries.invalidateQueries({ queryKey: meQuery.queryKey })
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
          {() => <UserTable users={users} me={me?.userId} onAct={setAct} onEnable={enable} />}
        </Loaded>
      </Panel>

      <Dialog open={creating} onClose={() => setCreating(false)} title={t.createTitle}>
        <CreateUserForm
          onClose={() => setCreating(false)}
          onCreated={async (user, password) => {
            const { username } = user
            void query.refetch()
            // The user is there: where the link fails, its row makes another.
            if (password === null) await linkFor(user).then(setPassOn, toastProblem)
            else setPassOn({ title: t.createdTitle(username), username, password })
            setCreating(false)
            void query.refetch()
          }}
        />
      </Dialog>
      <UserDialogs act={act} onClose={() => setAct(null)} onChanged={changed} onPassOn={setPassOn} />
      <Dialog
        open={passOn !== null}
        onClose={() => setPassOn(null)}
        title={passOn?.title ?? ''}
        detail={t.createdDetail}
      >
        {passOn !== null && <NewAccess access={passOn} onClose={() => setPassOn(null)} />}
      </Dialog>
    </div>
  )
}

interface UserTableProps {
  users: readonly UserView[]
  /** Id of who is logged in. */
  me: string | undefined
  onAct: (act: UserAct) => void
  onEnable: (user: UserView) => Promise<void>
}

function UserTable({ users, me, onAct, onEnable }: UserTableProps) {
  const admins = users.filter((user) => roleAt(user, null) === 'admin' && !user.disabled && user.hasPassword)
  return (
    <Table
      label={t.title}
      head={[
        { title: t.columns.name },
        { title: t.columns.role },
        { title: t.columns.state },
        { title: t.columns.factor },
        { title: t.columns.created },
        { title: t.columns.actions, hidden: true },
      ]}
    >
      {users.map((user) => (
        <UserRow
          key={user.id}
          user={user}
          me={user.id === me}
          lastAdmin={admins.length === 1 && admins[0]?.id === user.id}
          onAct={(kind) => onAct({ kind, user })}
          onEnable={() => void onEnable(user)}
        />
      ))}
    </Table>
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
  onAct: (kind: UserAct['kind']) => void
  onEnable: () => void
}) {
  return (
    <tr className="hover:bg-hover/60">
      <Cell className="min-w-32">
        <span className="font-medium">{user.username}</span>
        {me && <span className="ml-2 rounded-full bg-idle-soft px-1.5 py-0.5 text-xs text-ink-2">{t.you}</span>}
      </Cell>
      <Cell>
        <RolesOf user={user} />
      </Cell>
      <Cell>
        <AccountStatePill user={user} />
      </Cell>
      <Cell className="text-ink-2">{user.secondFactors?.map((kind) => t.factors[kind]).join(', ') ?? '–'}</Cell>
      <Cell className="text-ink-2">
        <TimeAgo time={user.createdAt} />
      </Cell>
      <ActionsCell>
        <Menu trigger={<IconButton icon={Ellipsis} label={t.actionsOf(user.username)} />}>
          {lastAdmin && <p className="max-w-52 px-2 py-1 text-sm text-ink-2">{t.lastAdmin}</p>}
          <MenuItem icon={ShieldHalf} disabled={lastAdmin} onSelect={() => onAct('role')}>
            {t.changeRole}
          </MenuItem>
          <MenuItem icon={KeyRound} onSelect={() => onAct('password')}>
            {me ? texts.account.changePassword : t.resetPassword}
          </MenuItem>
          {user.secondFactors !== undefined && (
            <MenuItem icon={Fingerprint} onSelect={() => onAct('factor')}>
              {t.resetFactor}
            </MenuItem>
          )}
          {!user.disabled && (
            <MenuItem icon={Link2} onSelect={() => onAct('link')}>
              {user.hasPassword ? t.makeReset : t.makeInvite}
            </MenuItem>
          )}
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
      </ActionsCell>
    </tr>
  )
}

/** `Read on 2 projects`, `Administrator on 1 project`. */
function RolesOf({ user: { role, projects, projectRoles } }: { user: UserView }) {
  const counts = Map.groupBy(projectRoles, (one) => one.role)
  const parts = [...counts].map(([own, all]) => t.onProjects(texts.roles[own].label, all.length))
  const whole = role === null ? [] : [texts.roles[role].label]
  const main = role !== null && projects.length > 0 ? [t.onProjects(texts.roles[role].label, projects.length)] : whole
  const all = [...main, ...parts]
  return (
    <span className="flex flex-col" title={role === null ? undefined : texts.roles[role].help}>
      {all.map((part, index) => (
        <span key={part} className={index === 0 ? undefined : 'text-sm text-ink-2'}>
          {part}
        </span>
      ))}
    </span>
  )
}
