import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import { connectDocker } from '../src/docker/client.ts'
import { isUnreachable } from '../src/docker/errors.ts'

const { cache } = createRequire(import.meta.url)
const loaded = (name: string) => Object.keys(cache).filter((path) => path.includes(`/node_modules/${name}/`))

test('of a Docker whose socket is missing the client is not loaded, and calls fail as one that does not answer', () => {
  const { docker } = connectDocker('unix:///nowhere/docker.sock')
  assert.throws(
    () => docker.getContainer('one'),
    (error) => isUnreachable(error) && /ENOENT \/nowhere\/docker\.sock/.test((error as Error).message),
  )
  assert.deepEqual(loaded('dockerode'), [])
})

test('the client comes with the first use, without SSH and gRPC, and is one', async () => {
  const { docker } = connectDocker('tcp://127.0.0.1:1')
  const { modem } = docker
  assert.equal(docker.modem, modem)
  assert.notDeepEqual(loaded('dockerode'), [])
  for (const name of ['ssh2', '@grpc/grpc-js', '@grpc/proto-loader']) assert.deepEqual(loaded(name), [], name)
  await assert.rejects(docker.version(), isUnreachable)
  // Who wants the real ones gets them.
  assert.equal(typeof createRequire(import.meta.url)('ssh2').Client, 'function')
})
