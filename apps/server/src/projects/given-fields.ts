import type { DatabaseType, ServiceFields, ServiceType } from '@stackquay/catalog'
import { databaseSecret, databaseWorkload, serviceSecret } from '@stackquay/domain'
import type { ProjectRow } from '@stackquay/store'
import { type Given, NotGivenError } from './once-given.ts'
import type { Resolver } from './resolver.ts'

/** What clients of a database are told, of what it was given; handles in place of secrets. Throws `NotGivenError` with this text. */
export function databaseFields(
  kind: DatabaseType,
  { name, inside }: { readonly name: string; readonly inside: string | undefined },
  { leases, secrets }: Given,
  notGiven: string,
): ReturnType<DatabaseType['credentials']> {
  const workload = databaseWorkload(kind.name, name)
  const lease = leases.find((one) => one.workload === workload)
  if (lease === undefined) throw new NotGivenError(notGiven)
  return kind.credentials({
    database: inside ?? name,
    username: inside ?? name,
    host: '127.0.0.1',
    port: lease.hostPort,
    secret: secretsOf(secrets, (field) => databaseSecret(name, field), notGiven),
  })
}

/** The same of a service; no fields for a kind without credentials. */
export function serviceFields(
  kind: ServiceType,
  { row, settings, resolver }: ServiceOf,
  { leases, secrets }: Given,
  notGiven: string,
): ReturnType<NonNullable<ServiceType['credentials']>> {
  return (
    kind.credentials?.({
      project: resolver.facts(row),
      settings,
      host: '127.0.0.1',
      port: (port) => {
        const lease = leases.find((one) => one.workload === kind.name && one.port === port)
        if (lease === undefined) throw new NotGivenError(notGiven)
        return lease.hostPort
      },
      secret: secretsOf(secrets, (field) => serviceSecret(kind.name, field), notGiven),
    }) ?? {}
  )
}

interface ServiceOf {
  readonly row: ProjectRow
  readonly settings: ServiceFields
  readonly resolver: Pick<Resolver, 'facts'>
}

function secretsOf(secrets: Given['secrets'], nameOf: (field: string) => string, notGiven: string) {
  return (field: string, encode?: 'url') => {
    const handle = secrets[nameOf(field)]
    if (handle === undefined) throw new NotGivenError(notGiven)
    return [encode === undefined ? handle : { ...handle, encode }]
  }
}
