import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError, readConfig } from '../src/config.ts'

test('the engine of new projects is decided by the machine unless it is named', () => {
  const { engine, dockerHost, registryAuthFile } = readConfig({})
  assert.deepEqual([engine, dockerHost, registryAuthFile], ['auto', null, null])
  for (const name of ['native', 'docker'] as const) assert.equal(readConfig({ STACKQUAY_ENGINE: name }).engine, name)
  assert.throws(() => readConfig({ STACKQUAY_ENGINE: 'podman' }), ConfigError)
})

test('Docker is where DOCKER_HOST says, and credentials of registries where a path says, from here', () => {
  const config = readConfig({ DOCKER_HOST: 'tcp://10.0.0.7:2375', STACKQUAY_REGISTRY_AUTH_FILE: 'registries.json' })
  assert.equal(config.dockerHost, 'tcp://10.0.0.7:2375')
  assert.ok(config.registryAuthFile?.startsWith('/') && config.registryAuthFile.endsWith('/registries.json'))
  assert.equal(readConfig({ DOCKER_HOST: '' }).dockerHost, null)
})
