import { after, before, describe } from 'node:test'
import { databaseTypeOf, serviceTypeOf } from '@stackquay/catalog'
import { type DockerFixture, dockerFixture } from './support/docker-stage.ts'
import { mailJourneys } from './support/mail-journeys.ts'
import { mariadbJourneys } from './support/mariadb-journeys.ts'
import { memcachedJourneys } from './support/memcached-journeys.ts'
import { postgresqlJourneys } from './support/postgresql-journeys.ts'
import { rabbitmqJourneys } from './support/rabbitmq-journeys.ts'
import { redisJourneys } from './support/redis-journeys.ts'
import { storageJourneys } from './support/storage-journeys.ts'

/** What databases and services promise for their data, in containers: on one Docker, all at once. */
describe('Kept data in containers', { concurrency: true }, () => {
  let fixture: DockerFixture

  before(async () => {
    fixture = await dockerFixture({ images: ['postgres', 'mariadb', 'redis', 'memcached', 'rabbitmq', 'node'] })
  })

  after(() => fixture?.close())

  const database = (name: string) => () => fixture.stage(databaseTypeOf(name)!)
  const service = (name: string) => () => fixture.stage(serviceTypeOf(name)!)

  postgresqlJourneys('in a container', database('postgresql'))
  mariadbJourneys('in a container', database('mariadb'))
  redisJourneys('in a container', service('redis'))
  memcachedJourneys('in a container', service('memcached'))
  mailJourneys('in a container', service('mailpit'))
  storageJourneys('in a container', service('storage'))
  rabbitmqJourneys('in a container', service('rabbitmq'))
})
