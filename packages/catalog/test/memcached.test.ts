import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { dirname } from 'node:path'
import { describe, test } from 'node:test'
import { type ChosenToolchain, serviceTypeOf } from '@stackquay/catalog'
import { serviceInput } from './support/inputs.ts'
import { memcachedJourneys } from './support/memcached-journeys.ts'
import { nativeStage } from './support/stage.ts'

const kind = serviceTypeOf('memcached')!

describe('The Memcached service', () => {
  test('listens where it is told, over TCP alone', () => {
    const spec = kind.toWorkload(serviceInput(kind))
    assert.equal(spec.name, 'memcached')
    assert.deepEqual(spec.run.argv.slice(1), ['-l', '127.0.0.1', '-p', '30000', '-U', '0', '-m', '64'])
    assert.deepEqual(spec.ports, [{ name: 'memcached', port: 30000, hostPort: 30000, bind: '127.0.0.1' }])
    assert.deepEqual(spec.data, [])
    const published = kind.toWorkload(serviceInput(kind, { exposePort: true }, { bind: () => '0.0.0.0' }))
    assert.equal(published.run.argv[2], '0.0.0.0')
    assert.equal(published.ports[0]?.bind, '0.0.0.0')
  })

  test('tells runtimes where it is, and has no credentials', () => {
    const variables = kind.variables(serviceInput(kind))
    assert.deepEqual(variables, {
      MEMCACHED_URL: 'memcached://127.0.0.1:30000',
      MEMCACHED_HOST: '127.0.0.1',
      MEMCACHED_PORT: '30000',
    })
    assert.deepEqual(Object.keys(variables), kind.injects)
    assert.equal(kind.credentials, undefined)
    assert.deepEqual(kind.secrets, [])
  })

  test('keeps no data, so there is none to delete and none that another version could not read', () => {
    assert.equal(kind.keepsData, false)
    assert.equal(kind.dataBlocker('1.6', '1.5'), null)
    assert.equal(kind.settings.patch.safeParse({ enabled: false, removeData: true }).success, false)
  })

  test('recognises its version as the program prints it', () => {
    const pattern = new RegExp(kind.toolchain!.versionPattern)
    assert.equal(pattern.exec('memcached 1.6.18\n')?.[1], '1.6.18')
    const printed = spawnSync(program(), [...kind.toolchain!.versionArgs], { encoding: 'utf8' }).stdout
    assert.equal(kind.lineOf(pattern.exec(printed)?.[1] ?? ''), '1.6')
  })
})

memcachedJourneys('of this machine', () => nativeStage(kind, toolchain()))

describe('A Memcached server among the processes of a machine', () => {
  test('ends when another program has its port, and leaves that alone', async () => {
    const stage = nativeStage(kind, toolchain())
    const machine = stage.project('memcached', {})
    const spec = kind.toWorkload(await stage.service())
    const first = await stage.start(spec, machine)
    try {
      await first.ready()
      const second = await stage.start(spec, machine)
      assert.notEqual((await second.ended()).code, 0)
      assert.match(await second.output(), /in use/)
      await first.ready()
    } finally {
      await first.stop()
      await stage.close()
    }
  })
})

function toolchain(): ChosenToolchain {
  const server = program()
  return { version: '1.6.18', program: server, directory: dirname(server) }
}

function program(): string {
  const found = spawnSync('sh', ['-c', 'command -v memcached'], { encoding: 'utf8' }).stdout.trim()
  assert.ok(found, `Install Memcached for this test: ${kind.install.debian}`)
  return found
}
