import type { ServiceType } from '../entry-types.ts'
import { mailpit } from './mailpit/mailpit.ts'
import { meilisearch } from './meilisearch/meilisearch.ts'
import { memcached } from './memcached/memcached.ts'
import { opensearch } from './opensearch/opensearch.ts'
import { rabbitmq } from './rabbitmq/rabbitmq.ts'
import { redis } from './redis/redis.ts'
import { storage } from './storage/storage.ts'
import { typesense } from './typesense/typesense.ts'

/** One line a service; a test compares this list with the folders beside it. */
export const serviceTypes: readonly ServiceType[] = [
  redis,
  memcached,
  rabbitmq,
  meilisearch,
  typesense,
  opensearch,
  mailpit,
  storage,
]

/** Services whose keys people can look at. */
export const keyServiceNames: readonly string[] = serviceTypes.filter((kind) => kind.hasKeys).map(({ name }) => name)

export function serviceTypeOf(name: string): ServiceType | undefined {
  return serviceTypes.find((kind) => kind.name === name)
}
