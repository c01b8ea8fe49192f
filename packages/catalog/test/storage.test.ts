import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, test } from 'node:test'
import { serviceInput } from './support/inputs.ts'
import { start } from './support/run-workload.ts'
import type { Started } from './support/stage.ts'
import { storageJourneys } from './support/storage-journeys.ts'
import { kind, nativeStorage, type StorageMachine, storageMachine } from './support/storage-machine.ts'

const Bucket = 'app'

describe('The kind', () => {
  test('runs a built-in program with its secrets in the environment alone', () => {
    const spec = kind.toWorkload(serviceInput(kind, {}, { bind: () => '0.0.0.0' }))
    assert.deepEqual(spec.run.argv.slice(3), [
      '--data',
      '{data:storage}',
      '--port',
      '30000',
      '--host',
      '0.0.0.0',
      '--bucket',
      Bucket,
    ])
    assert.deepEqual(spec.env.STORAGE_SECRET_KEY, [{ secret: 'secretKey', version: 1 }])
    assert.deepEqual(spec.data, [{ name: 'storage' }])
    assert.deepEqual(spec.ports, [{ name: 'http', port: 30000, hostPort: 30000, bind: '0.0.0.0' }])
    assert.ok(spec.run.argv.every((word) => typeof word === 'string'))
    const open = kind.toWorkload(serviceInput(kind, { publicRead: true }))
    assert.deepEqual(open.run.argv.slice(-1), ['--public-read'])
  })

  test('gives programs all that an SDK looks for, and people the same', () => {
    const input = serviceInput(kind)
    const accessKey = [{ secret: 'accessKey', version: 1 }]
    const secretKey = [{ secret: 'secretKey', version: 1 }]
    assert.deepEqual(kind.variables(input), {
      S3_ENDPOINT: 'http://127.0.0.1:30000',
      S3_BUCKET: Bucket,
      AWS_ENDPOINT_URL_S3: 'http://127.0.0.1:30000',
      AWS_ACCESS_KEY_ID: accessKey,
      AWS_SECRET_ACCESS_KEY: secretKey,
      AWS_REGION: 'us-east-1',
      AWS_DEFAULT_REGION: 'us-east-1',
    })
    assert.deepEqual(Object.keys(kind.variables(input)).sort(), kind.injects.toSorted())
    assert.deepEqual(kind.credentials?.(input), {
      accessKey,
      secretKey,
      endpoint: 'http://127.0.0.1:30000',
      bucket: Bucket,
      region: 'us-east-1',
    })
  })

  test('is private unless told, and says so only for a bucket that is new', () => {
    assert.deepEqual(kind.settings.defaults(), { enabled: true, exposePort: false, publicRead: false })
    assert.deepEqual(kind.settings.ofData, ['publicRead'])
    assert.equal(kind.settings.patch.safeParse({ publicRead: true, exposePort: true, hostPort: 1 }).success, true)
    assert.equal(kind.settings.patch.safeParse({ public: true }).success, false)
    assert.equal(kind.dataBlocker('1', '1'), null)
  })
})

storageJourneys('of this machine', nativeStorage)

describe('A storage among the processes of a machine', () => {
  let machine: StorageMachine
  let running: Started

  before(async () => {
    machine = await storageMachine()
    running = await machine.started()
  })

  after(async () => {
    await running?.stop()
    await machine?.remove()
  })

  test('has no secret in its arguments', () => {
    const command = execFileSync('ps', ['-o', 'args=', '-p', String(running.pid)], { encoding: 'utf8' })
    assert.match(command, /--bucket app/)
    assert.doesNotMatch(command, /ACCESSKEY|secret0123/)
  })

  test('refuses a second server on the same data', async () => {
    const { spec } = machine
    const other = { ...spec, run: { ...spec.run, argv: withPort(spec.run.argv) } }
    const second = await start(other, over(machine.data))
    const [code] = (await once(second.child, 'close')) as [number]
    assert.equal(code, 1)
    assert.match(second.output(), /Another object storage is using/)
    await running.ready()
  })

  test('says what is wrong when it cannot start', async () => {
    const newer = join(machine.data, '..', 'newer')
    mkdirSync(newer)
    const database = new DatabaseSync(join(newer, 'storage.sqlite'))
    database.exec('PRAGMA user_version = 99')
    database.close()
    const broken = join(machine.data, '..', 'broken')
    mkdirSync(broken)
    writeFileSync(join(broken, 'storage.sqlite'), 'this is no database, whatever its name says'.repeat(100))
    for (const [data, reason] of [
      [newer, /newer version of the storage/],
      [broken, /cannot be opened: file is not a database/],
    ] as const) {
      const failing = await start(machine.spec, over(data))
      const [code] = (await once(failing.child, 'close')) as [number]
      assert.equal(code, 1)
      assert.match(failing.output(), reason)
      assert.doesNotMatch(failing.output(), /at .*\.ts:/)
    }
  })

  const over = (data: string) => ({ data: { storage: data }, secrets: machine.secrets })
})

function withPort(argv: readonly [string, ...string[]]): readonly [string, ...string[]] {
  const [program, ...rest] = argv
  return [program, ...rest.map((word, at) => (rest[at - 1] === '--port' ? '0' : word))]
}
