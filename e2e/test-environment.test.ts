import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { testEnvironmentJourney } from './journeys/test-environment.ts'
import { startService } from './support/service.ts'

testEnvironmentJourney({
  title: 'a test run has a database of its own',
  open: startService,
  settings: { node: { server: false }, databases: { main: { type: 'postgresql' } } },
  dataOf: async ({ home }, project) => join(home, 'data', project),
  nothingLeftOf: async ({ home }, run) => {
    for (const place of ['data', 'run', 'run-home', 'logs'])
      assert.deepEqual(
        (await readdir(join(home, place))).filter((name) => name === run),
        [],
        place,
      )
  },
})
