import type { CallInput, OidcProvider } from '@stackquay/contract'

export type OidcBody = NonNullable<CallInput<'putOidc'>['body']>
type Role = NonNullable<OidcProvider['defaultRole']>

/** The provider as the fields of a form hold it: lists as text, one a line. */
export interface OidcForm {
  readonly label: string
  readonly issuer: string
  readonly clientId: string
  /** Nothing typed leaves the one that is kept. */
  readonly clientSecret: string
  readonly scopes: string
  readonly claim: string
  readonly admin: string
  readonly operate: string
  readonly read: string
  readonly defaultRole: Role | ''
  readonly createPeople: boolean
  readonly refreshMinutes: string
  readonly graceMinutes: string
}

const nothing: OidcForm = {
  label: 'Sign in',
  issuer: '',
  clientId: '',
  clientSecret: '',
  scopes: 'openid profile email offline_access',
  claim: '',
  admin: '',
  operate: '',
  read: '',
  defaultRole: '',
  createPeople: true,
  refreshMinutes: '15',
  graceMinutes: '240',
}

export function oidcFormOf(provider: OidcProvider | null): OidcForm {
  if (provider === null) return nothing
  const { roles, scopes, defaultRole, hasSecret: _kept, refreshMinutes, graceMinutes, ...rest } = provider
  const lines = (values: readonly string[] = []) => values.join('\n')
  return {
    ...rest,
    clientSecret: '',
    scopes: scopes.join(' '),
    claim: roles?.claim ?? '',
    admin: lines(roles?.admin),
    operate: lines(roles?.operate),
    read: lines(roles?.read),
    defaultRole: defaultRole ?? '',
    refreshMinutes: String(refreshMinutes),
    graceMinutes: String(graceMinutes),
  }
}

/** What PUT takes. A claim that is not named gives no roles. */
export function oidcBodyOf(form: OidcForm, password: string): OidcBody {
  const claim = form.claim.trim()
  return {
    label: form.label.trim(),
    issuer: form.issuer.trim(),
    clientId: form.clientId.trim(),
    ...(form.clientSecret === '' ? {} : { clientSecret: form.clientSecret }),
    scopes: form.scopes.split(/[\s,]+/).filter((scope) => scope !== ''),
    roles:
      claim === ''
        ? null
        : { claim, admin: linesOf(form.admin), operate: linesOf(form.operate), read: linesOf(form.read) },
    defaultRole: form.defaultRole === '' ? null : form.defaultRole,
    createPeople: form.createPeople,
    refreshMinutes: Number(form.refreshMinutes),
    graceMinutes: Number(form.graceMinutes),
    password,
  }
}

function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
}
