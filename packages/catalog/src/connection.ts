import type { Value } from '@stackquay/engine-api'
import type { ProjectFacts, ServiceFields } from './entry-types.ts'

/** What programs of a project are told of a database. */
export interface DatabaseConnection {
  readonly database: string
  readonly username: string
  /** Where clients connect: a name in the project's network, or this machine. */
  readonly host: string
  readonly port: number
  /** Reference to the text of a secret of this database, by the name in `secrets`. */
  secret(name: string, encode?: 'url'): Value
}

/** What programs of a project are told of a service. */
export interface ServiceConnection {
  readonly project: ProjectFacts
  readonly settings: ServiceFields
  /** Where clients connect: a name in the project's network, or this machine. */
  readonly host: string
  /** A port of the kind at that host, by its name. */
  port(name: string): number
  /** Reference to the text of a secret of this service, by the name in `secrets`. */
  secret(name: string, encode?: 'url'): Value
  /** What else the project has. Absent: nobody knows. */
  readonly beside?: BesideService
}

export interface BesideService {
  /** The workload of another service that is enabled; null when there is none. */
  workload(service: string): string | null
  /** A database by its name: its workload, and the address that clients are given. */
  database(name: string): { readonly workload: string; readonly url: Value } | null
}
