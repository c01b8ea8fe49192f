import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { npmProject, putFiles, vueProject } from './support/real-projects.ts'
import { assertRun, kindOf, temporary } from './support/real-runs.ts'
import { runSuite } from './support/run-suite.ts'
import { jestSource, nodeTestSource, playwrightSource } from './support/suite-sources.ts'

describe('Real suites of Node.js', () => {
  test('node:test: counts, failed tests, a file that cannot be loaded, a filter', async () => {
    const path = await temporary(nodeTestSource)
    const run = (filter: string | null = null) =>
      runSuite(kindOf('node-test'), { path, program: process.execPath }, filter)
    assertRun(
      await run(),
      path,
      {
        passed: 4,
        failed: 2,
        skipped: 2,
        failures: ['test/broken.test.js:1 test/broken.test.js', 'test/cart.test.js:9 counts what it has'],
      },
      /ℹ tests 8\n[\s\S]*ℹ pass 4\nℹ fail 2\n[\s\S]*ℹ skipped 1\nℹ todo 1\n/,
    )
    const only = await run('^adds$')
    const passed = only.results.cases.filter((one) => one.outcome === 'passed')
    assert.deepEqual(
      passed.map((one) => one.name),
      ['adds'],
    )
  })

  test('Vitest in the project that create-vue makes with Vite: its own test and one that fails', async () => {
    const path = await vueProject()
    await putFiles(path, { 'src/components/__tests__/Wrong.spec.ts': wrongSpec })
    const run = (filter: string | null = null) => runSuite(kindOf('vitest'), { path }, filter)
    assertRun(
      await run(),
      path,
      { passed: 1, failed: 1, skipped: 1, failures: ['src/components/__tests__/Wrong.spec.ts:8 says something else'] },
      /❯ src\/components\/__tests__\/Wrong\.spec\.ts:8:28[\s\S]*Tests\s+1 failed \| 1 passed \| 1 skipped \(3\)/,
    )
    const only = await run('renders properly')
    assert.deepEqual(
      only.results.cases.filter((one) => one.outcome === 'passed').map((one) => one.name),
      ['renders properly'],
    )
    assert.equal(only.code, 0)
  })

  test('Jest: counts, failed tests, a file that cannot be loaded, filters that look like options', async () => {
    const path = await npmProject('jest', jestPackage)
    await putFiles(path, jestSource)
    const run = (filter: string | null = null) => runSuite(kindOf('jest'), { path }, filter)
    assertRun(
      await run(),
      path,
      { passed: 2, failed: 2, skipped: 2, failures: ['broken.test.js:1 broken.test.js', 'sum.test.js:9 of 2'] },
      /Test Suites: 2 failed, 2 total\nTests:\s+1 failed, 1 skipped, 1 todo, 2 passed, 5 total/,
    )
    const only = await run('sum.test.js')
    assert.equal(only.results.cases.filter((one) => one.file?.endsWith('broken.test.js')).length, 0)
  })

  test('Playwright: counts, the failed test, and one that passed only when it was tried again', async () => {
    const path = await npmProject('playwright', { name: 'cart', devDependencies: { '@playwright/test': '1.65.1' } })
    await putFiles(path, playwrightSource)
    const run = (filter: string | null = null) => runSuite(kindOf('playwright'), { path }, filter)
    assertRun(
      await run(),
      path,
      { passed: 2, failed: 1, skipped: 1, failures: ['e2e/cart.spec.js:7 counts what it has'] },
      /1 failed\n[\s\S]*1 flaky\n[\s\S]*1 skipped\n\s+1 passed/,
    )
  })
})

const jestPackage = { name: 'sum', scripts: { test: 'jest' }, devDependencies: { jest: '30.5.2' } }

const wrongSpec = `import { describe, expect, it } from 'vitest'
import { mount } from '@vue/test-utils'
import HelloWorld from '@/components/HelloWorld.vue'

describe('HelloWorld', () => {
  it('says something else', () => {
    const wrapper = mount(HelloWorld, { props: { msg: 'Hello Vitest' } })
    expect(wrapper.text()).toContain('Hello Jest')
  })
  it.skip('is skipped', () => {})
})
`
