import type { CallInput, OidcProvider, OidcSettings } from '@stackquay/contract'
import type { Command } from 'commander'
import { noteDone } from '../../change-project.ts'
import type { Context } from '../../context.ts'
import type { Define } from '../../define.ts'
import { usageError } from '../../errors.ts'
import { eachOf, wholeNumber } from '../../options.ts'
import { plainText } from '../../output/plain-text.ts'
import { fields } from '../../output/table.ts'
import { inOwnSession } from '../../own-session.ts'
import { agree, askHidden } from '../../prompt.ts'

type Body = NonNullable<CallInput<'putOidc'>['body']>
type Role = NonNullable<OidcProvider['defaultRole']>

interface SetFlags {
  readonly issuer?: string
  readonly clientId?: string
  readonly clientSecret?: boolean
  readonly label?: string
  readonly scope?: readonly string[]
  readonly claim?: string
  readonly admin?: readonly string[]
  readonly operate?: readonly string[]
  readonly read?: readonly string[]
  readonly defaultRole?: string
  readonly createPeople?: boolean
  readonly refreshMinutes?: string
  readonly graceMinutes?: string
}

/** No token manages how people come in, so each of these asks for the password. */
export const defineOidc: Define = (command, context) => {
  command.summary('the OpenID Connect provider that people sign in with')
  command
    .command('show', { isDefault: true })
    .summary('show the provider, and the address to register there')
    .action(() => show(context()))
  setOptions(command.command('set'))
    .summary('set the provider')
    .description('Set the provider. What is not named stays. It asks for your password.')
    .addHelpText(
      'after',
      `
  stq instance oidc set --issuer https://id.example.org/realms/main --client-id stackquay --client-secret --default-role read
  stq instance oidc set --claim groups --admin ops --operate dev --read staff --default-role none`,
    )
    .action((flags: SetFlags) => set(context(), flags))
  command
    .command('test')
    .summary('ask a provider whether sign-in would work')
    .argument('[issuer]', 'default: the one that is set')
    .action((issuer: string | undefined) => test(context(), issuer))
  command
    .command('remove')
    .summary('sign nobody in by a provider any more')
    .option('-y, --yes', 'do not ask')
    .action(({ yes }: { yes?: boolean }) => remove(context(), yes))
}

function setOptions(command: Command): Command {
  return command
    .option('--issuer <url>', 'what stands before /.well-known/openid-configuration')
    .option('--client-id <id>', 'of this service, at the provider')
    .option('--client-secret', 'ask for the secret of the client')
    .option('--label <text>', 'of the button on the page of the login')
    .option('--scope <name>', 'a scope that is asked for', eachOf)
    .option('--claim <name>', 'the claim that gives roles: groups, realm_access.roles; "" for none')
    .option('--admin <value>', 'a value of it that makes an administrator', eachOf)
    .option('--operate <value>', 'a value of it that lets operate', eachOf)
    .option('--read <value>', 'a value of it that lets read', eachOf)
    .option('--default-role <role>', 'of everybody else: read, operate, admin, or none')
    .option('--create-people', 'make an account at the first sign-in')
    .option('--no-create-people', 'let in only people whose account is linked')
    .option('--refresh-minutes <minutes>', 'how often the provider is asked again')
    .option('--grace-minutes <minutes>', 'how long sessions go on while it does not answer')
}

const place = { what: 'The provider of the sign-in', page: '/settings/sign-in' }

async function show(context: Context): Promise<void> {
  const settings = await inOwnSession(context, place, (client) =>
    client.call('getOidc', {}, { signal: context.signal }),
  )
  context.result(settings, () => settingsText(settings, context))
}

async function set(context: Context, flags: SetFlags): Promise<void> {
  if (Object.keys(flags).length === 0) throw usageError('What is to change?', 'See: stq instance oidc set --help')
  const change = changeOf(flags)
  const settings = await inOwnSession(context, place, async (client, password) => {
    const { provider } = await client.call('getOidc', {}, { signal: context.signal })
    const body = withChange(provider, change, password)
    const clientSecret =
      flags.clientSecret === true ? { clientSecret: await askHidden(context.world, 'Client secret: ') } : {}
    return client.call('putOidc', { body: { ...body, ...clientSecret } }, { signal: context.signal })
  })
  noteDone(context, 'The provider is set')
  context.result(settings, () => (context.quiet ? '' : settingsText(settings, context)))
}

type Change = Partial<Omit<Body, 'password' | 'roles'>> & {
  readonly claim?: string
  readonly values: { readonly [R in Role]?: string[] }
}

/** Throws for what cannot be understood, before anything is asked. */
function changeOf(flags: SetFlags): Change {
  const { issuer, clientId, label, scope, claim, defaultRole, createPeople, refreshMinutes, graceMinutes } = flags
  const { admin, operate, read } = flags
  return {
    ...(issuer !== undefined && { issuer }),
    ...(clientId !== undefined && { clientId }),
    ...(label !== undefined && { label }),
    ...(scope !== undefined && { scopes: [...scope] }),
    ...(claim !== undefined && { claim }),
    ...(defaultRole !== undefined && { defaultRole: roleIn(defaultRole) }),
    ...(createPeople !== undefined && { createPeople }),
    ...(refreshMinutes !== undefined && {
      refreshMinutes: wholeNumber(refreshMinutes, '--refresh-minutes', 1, 1440),
    }),
    ...(graceMinutes !== undefined && { graceMinutes: wholeNumber(graceMinutes, '--grace-minutes', 1, 10_080) }),
    values: {
      ...(admin !== undefined && { admin: [...admin] }),
      ...(operate !== undefined && { operate: [...operate] }),
      ...(read !== undefined && { read: [...read] }),
    },
  }
}

function roleIn(text: string): Role | null {
  if (text === 'none') return null
  if (text === 'read' || text === 'operate' || text === 'admin') return text
  throw usageError(`"${text}" is no role.`, 'Roles are read, operate and admin; none refuses.')
}

function withChange(provider: OidcProvider | null, { claim, values, ...change }: Change, password: string): Body {
  const { hasSecret: _kept, roles = null, ...before } = provider ?? { hasSecret: false }
  const { issuer, clientId } = { ...before, ...change } as Partial<Body>
  if (issuer === undefined || clientId === undefined)
    throw usageError('No provider is set yet: it needs an issuer and a client id.', 'See: stq instance oidc set --help')
  const named = claim ?? roles?.claim ?? ''
  if (named === '' && Object.keys(values).length > 0)
    throw usageError('Which claim holds these values?', 'An example: --claim groups --admin ops')
  const next = named === '' ? null : { ...roles, claim: named, ...values }
  return { ...before, ...change, issuer, clientId, roles: next, password }
}

async function test(context: Context, issuer: string | undefined): Promise<void> {
  const body = issuer === undefined ? {} : { issuer }
  const tested = await inOwnSession(context, place, (client) =>
    client.call('testOidc', { body }, { signal: context.signal }),
  )
  const rows = tested.checks.map(
    ({ name, ok, detail }) => [name, `${ok ? 'ok' : 'not ok'}: ${plainText(detail)}`] as const,
  )
  context.result(tested, () => fields(rows, context.style))
}

async function remove(context: Context, yes: boolean | undefined): Promise<void> {
  await agree(context.world, 'Sessions that began at the provider end.', yes)
  await inOwnSession(context, place, (client) => client.call('deleteOidc', {}, { signal: context.signal }))
  noteDone(context, 'The provider is removed')
}

function settingsText({ redirectUri, provider }: OidcSettings, { style }: Context): string {
  const redirect = ['redirect address', redirectUri] as const
  if (provider === null) return fields([['provider', 'none'], redirect], style)
  const { roles } = provider
  const values =
    roles === null ? [] : (['admin', 'operate', 'read'] as const).map((role) => [role, roles[role]] as const)
  return fields(
    [
      ['issuer', plainText(provider.issuer)],
      redirect,
      ['client', `${plainText(provider.clientId)}${provider.hasSecret ? ', with a secret' : ', public'}`],
      ['label', plainText(provider.label)],
      ['scopes', plainText(provider.scopes.join(' '))],
      ...(roles === null ? [] : [['claim', plainText(roles.claim)] as const]),
      ...values.filter(([, all]) => all.length > 0).map(([role, all]) => [role, plainText(all.join(', '))] as const),
      ['everybody else', provider.defaultRole ?? 'refused'],
      ['new people', provider.createPeople ? 'get an account' : 'are refused'],
      ['asked again', `every ${provider.refreshMinutes} min; without an answer for ${provider.graceMinutes} min`],
    ],
    style,
  )
}
