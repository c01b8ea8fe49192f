import type { UserView } from '@stackquay/contract'
import { useQuery } from '@tanstack/react-query'
import { client } from '../../api/client.ts'
import { meQuery } from '../../api/queries.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Consequences } from '../../components/consequences.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { toastDone } from '../../components/toast.tsx'
import { texts } from '../../texts/index.ts'
import { PasswordDialog } from '../password-dialog.tsx'
import { PasswordStep } from '../second-factor/password-step.tsx'
import { type PassOn, ResetPasswordForm, RoleForm } from '../user-forms.tsx'

const t = texts.users

export interface UserAct {
  readonly kind: 'role' | 'password' | 'factor' | 'link' | 'disable' | 'delete'
  readonly user: UserView
}

interface UserDialogsProps {
  /** What is to be done to whom; null for nothing. */
  act: UserAct | null
  onClose: () => void
  onChanged: (user: UserView) => Promise<void>
  onPassOn: (access: PassOn) => void
}

export function UserDialogs({ act, onClose, onChanged, onPassOn }: UserDialogsProps) {
  const me = useQuery(meQuery).data
  const userFor = (kind: UserAct['kind']) => (act?.kind === kind ? act.user : null)
  const roleOf = userFor('role')
  const passwordOf = userFor('password')
  const own = passwordOf !== null && passwordOf.id === me?.userId
  return (
    <>
      <Dialog open={roleOf !== null} onClose={onClose} title={t.roleTitle(roleOf?.username ?? '')}>
        {roleOf !== null && (
          <RoleForm
            user={roleOf}
            self={roleOf.id === me?.userId}
            onClose={onClose}
            onChanged={async () => {
              await onChanged(roleOf)
              onClose()
              toastDone(t.roleChanged(roleOf.username))
            }}
          />
        )}
      </Dialog>
      <Dialog
        open={passwordOf !== null && !own}
        onClose={onClose}
        title={t.resetTitle(passwordOf?.username ?? '')}
        detail={t.resetDetail}
      >
        {passwordOf !== null && (
          <ResetPasswordForm
            user={passwordOf}
            onClose={onClose}
            onSet={(password) => {
              onClose()
              onPassOn({ title: t.passwordSetTitle(passwordOf.username), username: passwordOf.username, password })
            }}
          />
        )}
      </Dialog>
      <PasswordDialog open={own} onClose={onClose} user={me?.user ?? ''} />
      <ResetFactor user={userFor('factor')} onClose={onClose} onChanged={onChanged} />
      <MakeLink user={userFor('link')} onClose={onClose} onPassOn={onPassOn} onChanged={onChanged} />
      <DisableUser user={userFor('disable')} onClose={onClose} onChanged={onChanged} />
      <DeleteUser user={userFor('delete')} onClose={onClose} onChanged={onChanged} />
    </>
  )
}

interface ConfirmProps {
  user: UserView | null
  onClose: () => void
  onChanged: (user: UserView) => Promise<void>
}

function ResetFactor({ user, onClose, onChanged }: ConfirmProps) {
  return (
    <Dialog
      open={user !== null}
      onClose={onClose}
      title={t.resetFactorTitle(user?.username ?? '')}
      detail={t.resetFactorDetail}
    >
      <PasswordStep
        submit={t.resetFactorSubmit}
        danger
        onClose={onClose}
        onPassword={async (password) => {
          if (user === null) return
          await client.call('resetSecondFactor', { params: { uid: user.id }, body: { password } })
          await onChanged(user)
          onClose()
          toastDone(t.factorReset(user.username))
        }}
      />
    </Dialog>
  )
}

/** Makes a link for somebody, and answers what is to be passed on. */
export async function linkFor({ id, username, hasPassword }: UserView): Promise<PassOn> {
  const link = await client.call('inviteUser', { params: { uid: id } })
  return { title: (hasPassword ? t.resetLinkTitle : t.invitedTitle)(username), username, link }
}

function MakeLink({ user, onClose, onChanged, onPassOn }: ConfirmProps & Pick<UserDialogsProps, 'onPassOn'>) {
  return (
    <ConfirmDialog
      open={user !== null}
      onClose={onClose}
      title={t.makeLinkTitle(user?.username ?? '')}
      submit={t.makeLink}
      onConfirm={async () => {
        if (user === null) return
        onPassOn(await linkFor(user))
        await onChanged(user)
      }}
    >
      <Consequences items={t.makeLinkConsequences} />
    </ConfirmDialog>
  )
}

function DisableUser({ user, onClose, onChanged }: ConfirmProps) {
  return (
    <ConfirmDialog
      open={user !== null}
      onClose={onClose}
      title={t.disableTitle(user?.username ?? '')}
      submit={t.disableSubmit}
      onConfirm={async () => {
        if (user === null) return
        await client.call('changeUser', { params: { uid: user.id }, body: { disabled: true } })
        await onChanged(user)
        toastDone(t.disabledDone(user.username))
      }}
    >
      <Consequences items={t.disableConsequences} />
    </ConfirmDialog>
  )
}

function DeleteUser({ user, onClose, onChanged }: ConfirmProps) {
  return (
    <ConfirmDialog
      open={user !== null}
      onClose={onClose}
      title={t.deleteTitle(user?.username ?? '')}
      word={user?.username}
      submit={t.deleteSubmit}
      onConfirm={async () => {
        if (user === null) return
        await client.call('deleteUser', { params: { uid: user.id } })
        await onChanged(user)
        toastDone(t.deleted(user.username))
      }}
    >
      <Consequences items={t.deleteConsequences} />
    </ConfirmDialog>
  )
}
