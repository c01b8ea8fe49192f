import type { Value } from '@stackquay/engine-api'
import type { ServiceConnection, ServiceType } from '../../entry-types.ts'
import { externalOf } from './external.ts'

/** Where clients connect, here or elsewhere. */
interface Target {
  readonly host: string
  readonly port: number
  readonly username: string | null
  readonly password: Value | null
  readonly passwordInUrl: Value | null
  readonly tls: boolean
}

export const variables: ServiceType['variables'] = (connection) => {
  const target = targetOf(connection)
  return {
    REDIS_URL: url(target),
    REDIS_HOST: target.host,
    REDIS_PORT: String(target.port),
    // An empty one would make clients log in with it, which a server without a password refuses.
    ...(target.password === null ? {} : { REDIS_PASSWORD: target.password }),
  }
}

/** All that `redis-cli` takes from its environment: it is told host and port. */
export const clientVariables: NonNullable<ServiceType['clientVariables']> = (connection) => {
  const { password } = targetOf(connection)
  return { ...(password === null ? {} : { REDISCLI_AUTH: password }) }
}

export const credentials: NonNullable<ServiceType['credentials']> = (connection) => {
  const target = targetOf(connection)
  return {
    host: target.host,
    port: target.port,
    username: target.username,
    password: target.password,
    tls: target.tls,
    url: url(target),
  }
}

function targetOf(connection: ServiceConnection): Target {
  const external = externalOf(connection.settings)
  if (external === null) {
    return {
      host: connection.host,
      port: connection.port('redis'),
      // By this name, for redis-cli takes an empty one at its word; clients that know no users ignore it.
      username: 'default',
      password: connection.secret('password'),
      passwordInUrl: connection.secret('password', 'url'),
      tls: false,
    }
  }
  const { password, ...rest } = external
  return {
    ...rest,
    password: password === null ? null : [password],
    passwordInUrl: password === null ? null : [{ ...password, encode: 'url' }],
  }
}

/** Without a user the URL has an empty one: clients then log in with the password alone, which servers before Redis 6 want. */
function url({ host, port, username, passwordInUrl, tls }: Target): Value {
  const scheme = tls ? 'rediss' : 'redis'
  const where = `${host.includes(':') ? `[${host}]` : host}:${port}`
  const user = encodeURIComponent(username ?? '')
  if (passwordInUrl === null) return `${scheme}://${user === '' ? '' : `${user}@`}${where}`
  const password = typeof passwordInUrl === 'string' ? [passwordInUrl] : passwordInUrl
  return [`${scheme}://${user}:`, ...password, `@${where}`]
}
