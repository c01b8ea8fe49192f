import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chown, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import type { Browser } from '@stackquay/testkit'
import type { Page } from 'playwright-core'
import { type GitServer, publishRepository, serveGit } from './support/git-server.ts'
import { assertLooks, openPage } from './support/page.ts'
import { type Service, startService } from './support/service.ts'

const execute = promisify(execFile)
const login = { username: 'grace', password: 'p4ss-w0rd-of-the-forge' }
const env = { PATH: process.env.PATH, GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null' }

describe('git on the page', () => {
  let browser: Browser
  let service: Service
  let git: GitServer
  let page: Page
  let work: string
  let path: string

  before(async () => {
    work = await mkdtemp(join(tmpdir(), 'stackquay-page-git-'))
    await mkdir(join(work, 'source'))
    await writeFile(join(work, 'source', 'read.me'), 'Hello\n')
    await publishRepository(join(work, 'source'), join(work, 'private.git'))
    await execute('git', ['config', 'http.receivepack', 'true'], { cwd: join(work, 'private.git') })
    git = await serveGit(work, login)
    service = await startService()
    const made = await service.client.call('createProject', {
      body: { name: 'Shop', git: { url: git.url('private.git', `${login.username}:${login.password}`) }, start: false },
      query: { wait: 60 },
    })
    assert.equal(made.operation?.state, 'succeeded', JSON.stringify(made.operation?.error))
    path = made.path
    const { uid, gid } = await stat(path)
    for (const [name, text] of [
      ['read.me', 'Hello, all\nof you\n'],
      ['added-with-a-rather-long-name-so-that-a-phone-has-to-break-it.txt', 'new\n'],
    ] as const) {
      await writeFile(join(path, name), text)
      await chown(join(path, name), uid, gid)
    }
    ;({ browser, page } = await openPage(service, 20_000))
  })
  after(async () => {
    await browser?.close()
    await service?.close()
    await git?.close()
    await rm(work, { recursive: true, force: true })
  })

  const dialog = () => page.getByRole('dialog')

  it('shows changes with their diffs, discards one and commits the other', { timeout: 120_000 }, async () => {
    await page.goto(`${service.url}/projects/shop`)
    await page.getByRole('link', { name: 'Git' }).click()
    await page.getByText('as origin/main at the last fetch').waitFor()
    await page.getByRole('button', { name: 'Show the diff of read.me' }).click()
    await page.getByText('+Hello, all').waitFor()
    await assertLooks(page, 'git with changes and a diff')
    await page.getByRole('button', { name: 'Discard read.me' }).click()
    await dialog().getByRole('button', { name: 'Discard' }).click()
    await page.getByText('read.me is as it was committed.').waitFor()
    assert.equal(await readFile(join(path, 'read.me'), 'utf8'), 'Hello\n')
    await page.getByRole('textbox', { name: 'Message' }).fill('A file with a long name')
    await page.getByRole('button', { name: 'Commit 1 file' }).click()
    await page.getByText('Every file is as it was committed.').waitFor()
    await page.getByText('1 ahead and 0 behind of origin/main at the last fetch').waitFor()
  })

  it('pushes, and pulls after a plan', { timeout: 120_000 }, async () => {
    await page.getByRole('button', { name: 'Push…' }).click()
    await dialog().getByText('1 commit is not there yet.').waitFor()
    await dialog().getByRole('button', { name: 'Push' }).click()
    await page.getByText('as origin/main at the last fetch').waitFor()
    const clone = join(work, 'clone')
    await execute('git', ['clone', '--quiet', join(work, 'private.git'), clone], { env })
    await writeFile(join(clone, 'theirs'), 'theirs\n')
    await execute('git', ['add', '--all'], { cwd: clone, env })
    const ada = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com']
    await execute('git', [...ada, 'commit', '--quiet', '--message', 'Theirs'], { cwd: clone, env })
    await execute('git', ['push', '--quiet'], { cwd: clone, env })
    await page.getByRole('button', { name: 'Fetch' }).click()
    await page.getByText('0 ahead and 1 behind of origin/main').waitFor()
    await page.getByRole('button', { name: 'Pull…' }).click()
    await dialog().getByText('Bring main to origin/main: 1 commit, 1 file').waitFor()
    await assertLooks(page, 'the plan of a pull')
    await dialog().getByRole('button', { name: 'Pull' }).click()
    await page.getByText('as origin/main at the last fetch').waitFor()
    assert.equal(await readFile(join(path, 'theirs'), 'utf8'), 'theirs\n')
  })

  it('makes a deploy key, and keeps the token when the address is saved without one', { timeout: 60_000 }, async () => {
    await page.getByRole('button', { name: 'Make a deploy key' }).click()
    await page.getByText('ssh-ed25519 ').waitFor()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('The address is set.').waitFor()
    await page.getByText('One is kept. Leave it empty to keep it.').waitFor()
    const state = await service.client.call('getGit', { params: { id: 'shop' } })
    assert.deepEqual(state.credentials, { username: null, hasToken: true })
    await assertLooks(page, 'git with a deploy key')
  })

  it('makes address and secret for the forge, shows them once, and deploys with a way back', {
    timeout: 120_000,
  }, async () => {
    const panel = page.locator('section', { has: page.getByRole('heading', { name: 'Push to deploy' }) })
    await panel.getByRole('checkbox', { name: 'Take deliveries of the forge' }).check()
    await panel.getByRole('textbox', { name: 'Ask the remote every' }).fill('often')
    await panel.getByRole('button', { name: 'Set', exact: true }).click()
    await panel.getByText('must be like 5m or 2h').waitFor()
    await panel.getByRole('textbox', { name: 'Ask the remote every' }).fill('2h')
    await panel.getByRole('button', { name: 'Set', exact: true }).click()
    await panel.getByText('whsec_').waitFor()
    await panel.getByText('it is not shown again').waitFor()
    await panel.getByText('/api/v1/hooks/').waitFor()
    await panel.getByRole('button', { name: 'Deploy now' }).click()
    const list = page.locator('section', { has: page.getByRole('heading', { name: 'Deploys' }) })
    await list.getByText('deployed').waitFor()
    await list.getByText('Release').click()
    await list.getByText('Generation').waitFor()
    await assertLooks(page, 'push to deploy')
    await page.reload()
    await panel.getByText('cannot be shown again').waitFor()
    assert.equal(await page.getByText('whsec_').count(), 0)
  })
})
