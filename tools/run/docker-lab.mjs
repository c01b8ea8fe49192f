import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { childEnv, node, root } from './places.mjs'
import { Refusal } from './refusal.mjs'

/** Beginnings of the paths of the tests that start Docker daemons of their own. Elsewhere than on Linux they cannot, and say so themselves. */
export const dockerTests =
  process.platform === 'linux'
    ? ['packages/testkit/test/docker-', 'packages/engines/test/docker-', 'packages/catalog/test/docker-', 'e2e/docker-']
    : []

const script = join(root, 'packages/testkit/src/docker-lab/prepare.ts')

/** Builds the images of these tests that are not stored yet. Without root they cannot run at all, and say so themselves. */
export function ensureDockerImages(testFiles) {
  if (!runsDocker(testFiles)) return
  const { status, error } = run('build', ...testFiles)
  if (error !== undefined) throw error
  if (status !== 0) throw new Refusal('The images of the Docker tests could not be built; the message is above.')
}

/** Tests that were interrupted leave daemons and networks behind. */
export function clearDockerLabs(testFiles) {
  if (runsDocker(testFiles)) run('clear')
}

export function isDockerTest(file) {
  return dockerTests.some((start) => file.startsWith(start))
}

function runsDocker(testFiles) {
  return testFiles.some(isDockerTest) && process.getuid() === 0
}

function run(...args) {
  return spawnSync(node, [script, ...args], { cwd: root, env: childEnv(), stdio: ['ignore', 2, 2] })
}
