import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { testEnvironmentJourney } from './journeys/test-environment.ts'
import { objectsNaming } from './support/docker-objects.ts'
import { lines, startDockerService } from './support/docker-service.ts'

testEnvironmentJourney({
  title: 'a test run has a database of its own in containers of its own',
  open: (options) => startDockerService(['node', 'postgresql'], options),
  settings: {
    node: { version: lines.node, server: false },
    databases: { main: { type: 'postgresql', version: lines.postgresql } },
  },
  dataOf: async ({ lab }, project) => {
    const volume = await lab.docker(['volume', 'ls', '--quiet', '--filter', `label=stackquay.project=${project}`])
    return lab.docker(['volume', 'inspect', '--format', '{{.Mountpoint}}', volume])
  },
  nothingLeftOf: async ({ lab, home }, run) => {
    assert.deepEqual(await objectsNaming(lab, run), [])
    for (const place of ['data', 'run', 'logs'])
      assert.deepEqual(
        (await readdir(join(home, 'docker', place))).filter((name) => name === run),
        [],
        place,
      )
  },
})
