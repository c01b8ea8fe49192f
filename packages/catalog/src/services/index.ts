import type { ServiceType } from '../kind.ts'
import { mailpit } from './mailpit/mailpit.ts'
import { meilisearch } from './meilisearch/meilisearch.ts'
import { memcached } from './memcached/memcached.ts'
import { opensearch } from './opensearch/opensearch.ts'
import { rabbitmq } from './rabbitmq/rabbitmq.ts'
import { redis } from './redis/redis.ts'
import { storage } from './storage/storage.ts'
import { typesense } from './typesense/typesense.ts'

/** One line a service; a test compares this list with the folders beside it. */
export const serviceKinds: readonly ServiceType[] = [
  redis,
  memcached,
  rabbitmq,
  meilisearch,
  typesense,
  opensearch,
  mailpit,
  storage,
]

export function serviceKindOf(name: string): ServiceType | undefined {
  return serviceKinds.find((kind) => kind.name === name)
}
