import type { UserView } from '@stackquay/contract'
import { RefreshCw } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { client } from '../api/client.ts'
import { Button, IconButton } from '../components/button.tsx'
import { CodeBlock } from '../components/code-block.tsx'
import { CopyButton } from '../components/copy-button.tsx'
import { DialogActions } from '../components/dialog.tsx'
import { ErrorNote } from '../components/error-state.tsx'
import { Segments, TextField } from '../components/field.tsx'
import { errorsAt } from '../lib/field-errors.ts'
import { formatDateTime } from '../lib/format.ts'
import { newPassword } from '../lib/new-password.ts'
import { draftOf, isWhole, type RightsDraft, rightsOf } from '../lib/rights.ts'
import { includes } from '../lib/token-powers.ts'
import { useSubmit } from '../modules/use-submit.ts'
import { texts } from '../texts/index.ts'
import { RightsFields } from './users/rights-fields.tsx'

const t = texts.users

const nothing: RightsDraft = { role: 'operate', extent: 'all', projects: [], projectRoles: [] }

export function CreateUserForm({
  onClose,
  onCreated,
}: {
  onClose: () => void
  /** With the password that was chosen, or null where a link is to be made. */
  onCreated: (user: UserView, password: string | null) => Promise<void>
}) {
  const [username, setUsername] = useState('')
  const [rights, setRights] = useState(nothing)
  const [way, setWay] = useState<'link' | 'password'>('link')
  const [password, setPassword] = useState(randomPassword)
  const form = useForm(async () => {
    const own = way === 'password' ? { password } : {}
    const user = await client.call('createUser', {
      body: { username: username.trim(), ...rightsOf(rights), ...own },
    })
    await onCreated(user, way === 'password' ? password : null)
  })
  return (
    <form className="flex flex-col gap-4" onSubmit={form.onSubmit}>
      <TextField
        label={t.username}
        help={t.usernameHelp}
        required
        autoFocus
        autoCapitalize="none"
        spellCheck={false}
        maxLength={39}
        value={username}
        onChange={(event) => setUsername(event.target.value)}
        error={form.errorAt('/username')}
      />
      <RightsFields value={rights} onChange={setRights} errorAt={form.errorAt} />
      <div className="flex flex-col gap-2">
        <p className="text-sm font-medium">{t.way}</p>
        <Segments
          label={t.way}
          value={way}
          onChange={setWay}
          options={[
            { value: 'link', label: t.byLink },
            { value: 'password', label: t.byPassword },
          ]}
        />
        {way === 'link' && <p className="text-sm text-ink-3">{t.byLinkHelp}</p>}
      </div>
      {way === 'password' && (
        <PasswordToPassOn value={password} onChange={setPassword} error={form.errorAt('/password')} />
      )}
      {form.note(['/username', '/password', '/projects', '/projectRoles'])}
      <DialogActions>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button type="submit" look="primary" busy={form.busy} disabled={!isWhole(rights)}>
          {t.createSubmit}
        </Button>
      </DialogActions>
    </form>
  )
}

export function RoleForm({
  user,
  self,
  onClose,
  onChanged,
}: {
  user: UserView
  self: boolean
  onClose: () => void
  onChanged: () => Promise<void>
}) {
  const before = draftOf(user)
  const [rights, setRights] = useState(before)
  const form = useForm(async () => {
    await client.call('changeUser', { params: { uid: user.id }, body: rightsOf(rights) })
    await onChanged()
  })
  const [next, old] = [rightsOf(rights), rightsOf(before)]
  const isSame = JSON.stringify(next) === JSON.stringify(old)
  const less = user.role !== null && (next.role === null || !includes(next.role, user.role))
  const note = less ? (self ? t.roleSelf : t.roleLess) : isSame ? '' : t.accessChanged
  return (
    <form className="flex flex-col gap-4" onSubmit={form.onSubmit}>
      <RightsFields value={rights} onChange={setRights} errorAt={form.errorAt} />
      <p role="status" className={less ? 'rounded-md bg-warn-soft px-3 py-2' : 'text-sm text-ink-2'}>
        {note}
      </p>
      {form.note(['/projects', '/projectRoles'])}
      <DialogActions>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button type="submit" look={less ? 'danger' : 'primary'} busy={form.busy} disabled={isSame || !isWhole(rights)}>
          {t.roleSubmit}
        </Button>
      </DialogActions>
    </form>
  )
}

export function ResetPasswordForm({
  user,
  onClose,
  onSet,
}: {
  user: UserView
  onClose: () => void
  onSet: (password: string) => void
}) {
  const [password, setPassword] = useState(randomPassword)
  const form = useForm(async () => {
    await client.call('changeUser', { params: { uid: user.id }, body: { password } })
    onSet(password)
  })
  return (
    <form className="flex flex-col gap-4" onSubmit={form.onSubmit}>
      <PasswordToPassOn value={password} onChange={setPassword} error={form.errorAt('/password')} />
      {form.note(['/password'])}
      <DialogActions>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button type="submit" look="danger" busy={form.busy}>
          {t.resetSubmit}
        </Button>
      </DialogActions>
    </form>
  )
}

export interface PassOn {
  readonly title: string
  readonly username: string
  /** One of the two. */
  readonly password?: string
  readonly link?: { readonly url: string; readonly expiresAt: string }
}

/** What the administrator gives the person; the password is in no other place any more. */
export function NewAccess({ access, onClose }: { access: PassOn; onClose: () => void }) {
  return (
    <div className="flex flex-col gap-4">
      {partsOf(access).map(([label, value]) => (
        <div key={label}>
          <p className="mb-1 text-sm font-medium">{label}</p>
          <CodeBlock code={value} label={label} wrap />
        </div>
      ))}
      {access.link !== undefined && <p className="text-ink-2">{t.linkUntil(formatDateTime(access.link.expiresAt))}</p>}
      <DialogActions>
        <Button look="primary" onClick={onClose}>
          {texts.common.done}
        </Button>
      </DialogActions>
    </div>
  )
}

function partsOf({ username, password, link }: PassOn): readonly (readonly [label: string, value: string])[] {
  if (link !== undefined) return [[t.link, link.url]]
  return [
    [t.address, window.location.origin],
    [t.username, username],
    [t.password, password ?? ''],
  ]
}

/** Readable while it is chosen: it has to be passed on. */
function PasswordToPassOn({
  value,
  onChange,
  error,
}: {
  value: string
  onChange: (password: string) => void
  error: string | null
}) {
  return (
    <TextField
      label={t.password}
      help={t.passwordHelp}
      mono
      required
      minLength={10}
      maxLength={256}
      spellCheck={false}
      autoCapitalize="none"
      value={value}
      onChange={(event) => onChange(event.target.value)}
      error={error}
      action={
        <span className="flex">
          <IconButton icon={RefreshCw} label={t.generate} onClick={() => onChange(randomPassword())} />
          <CopyButton text={value} label={t.copyPassword} size="md" />
        </span>
      }
    />
  )
}

function randomPassword(): string {
  return newPassword((bytes) => crypto.getRandomValues(bytes))
}

function useForm(act: () => Promise<void>) {
  const { busy, error, problem, run } = useSubmit()
  const errors = problem?.errors
  const submit = async () => {
    await run(async () => {
      await act()
    })
  }
  return {
    busy,
    errorAt: (pointer: string) => errorsAt(errors, pointer),
    note: (fields: readonly string[]): ReactNode => error !== null && <ErrorNote error={error} hideErrors={fields} />,
    onSubmit: (event: { preventDefault(): void }) => {
      event.preventDefault()
      void submit()
    },
  }
}
