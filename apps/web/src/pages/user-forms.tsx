import type { Scope, UserView } from '@stackquay/contract'
import { RefreshCw } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { client } from '../api/client.ts'
import { Button, IconButton } from '../components/button.tsx'
import { Choices } from '../components/choices.tsx'
import { CodeBlock } from '../components/code-block.tsx'
import { CopyButton } from '../components/copy-button.tsx'
import { DialogActions } from '../components/dialog.tsx'
import { ErrorNote } from '../components/error-state.tsx'
import { TextField } from '../components/field.tsx'
import { errorsAt } from '../lib/field-errors.ts'
import { newPassword } from '../lib/new-password.ts'
import { includes } from '../lib/token-powers.ts'
import { useSubmit } from '../modules/use-submit.ts'
import { texts } from '../texts/index.ts'

const t = texts.users

const scopes = ['read', 'operate', 'admin'] as const satisfies readonly Scope[]

const roles = scopes.map((value) => ({ value, label: texts.roles[value].label, help: texts.roles[value].help }))

export function CreateUserForm({
  onClose,
  onCreated,
}: {
  onClose: () => void
  onCreated: (username: string, password: string) => void
}) {
  const [username, setUsername] = useState('')
  const [role, setRole] = useState<Scope>('operate')
  const [password, setPassword] = useState(randomPassword)
  const form = useForm(async () => {
    const user = await client.call('createUser', { body: { username: username.trim(), role, password } })
    onCreated(user.username, password)
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
      <Choices label={texts.roles.label} value={role} onChange={setRole} options={roles} />
      <PasswordToPassOn value={password} onChange={setPassword} error={form.errorAt('/password')} />
      {form.note(['/username', '/password'])}
      <DialogActions>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button type="submit" look="primary" busy={form.busy}>
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
  const [role, setRole] = useState(user.role)
  const form = useForm(async () => {
    await client.call('changeUser', { params: { uid: user.id }, body: { role } })
    await onChanged()
  })
  const less = !includes(role, user.role)
  return (
    <form className="flex flex-col gap-4" onSubmit={form.onSubmit}>
      <Choices label={texts.roles.label} value={role} onChange={setRole} options={roles} />
      <p role="status" className={less ? 'rounded-md bg-warn-soft px-3 py-2' : undefined}>
        {less ? (self ? t.roleSelf : t.roleLess) : ''}
      </p>
      {form.note([])}
      <DialogActions>
        <Button onClick={onClose}>{texts.common.cancel}</Button>
        <Button type="submit" look={less ? 'danger' : 'primary'} busy={form.busy} disabled={role === user.role}>
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
  readonly password: string
}

/** What the administrator gives the person; the password is in no other place any more. */
export function NewAccess({ access, onClose }: { access: PassOn; onClose: () => void }) {
  return (
    <div className="flex flex-col gap-4">
      {(
        [
          [t.address, window.location.origin],
          [t.username, access.username],
          [t.password, access.password],
        ] as const
      ).map(([label, value]) => (
        <div key={label}>
          <p className="mb-1 text-sm font-medium">{label}</p>
          <CodeBlock code={value} label={label} wrap />
        </div>
      ))}
      <DialogActions>
        <Button look="primary" onClick={onClose}>
          {texts.common.done}
        </Button>
      </DialogActions>
    </div>
  )
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
