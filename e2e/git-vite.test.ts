import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cp, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { type Browser, launchBrowser } from '@stackquay/testkit'
import { type GitServer, publishRepository, serveGit } from './support/git-server.ts'
import { refusal } from './support/refusal.ts'
import { type Service, startService } from './support/service.ts'
import { settings } from './support/settings.ts'
import { filesThatHold, traces } from './support/traces.ts'

const execute = promisify(execFile)
const account = { username: 'grace-of-git', password: 'p4ss:w@rd/with%odd#signs' }
const credentials = `${encodeURIComponent(account.username)}:${encodeURIComponent(account.password)}`

describe('a Vite application from a git repository', () => {
  let service: Service
  let git: GitServer
  let browser: Browser
  let work: string

  before(async () => {
    work = await mkdtemp(join(tmpdir(), 'stackquay-git-'))
    await execute('npm', ['create', '--yes', 'vite@9.3.0', 'page', '--', '--template', 'react', '--no-interactive'], {
      cwd: work,
    })
    await publishRepository(join(work, 'page'), join(work, 'page.git'))
    await cp(join(work, 'page.git'), join(work, 'private.git'), { recursive: true })
    git = await serveGit(work, account)
    service = await startService({ env: { STACKQUAY_LOG_LEVEL: 'trace' } })
    browser = await launchBrowser()
  })
  after(async () => {
    await browser?.close()
    await service?.close()
    await git?.close()
    await rm(work, { recursive: true, force: true })
  })

  it('is cloned, recognised, installed and started', { timeout: 240_000 }, async () => {
    const project = await service.client.call('createProject', {
      body: { name: 'Page', git: { url: git.url('page.git') } },
      query: { wait: 200 },
    })
    assert.equal(project.operation?.state, 'succeeded', JSON.stringify(project.operation?.error))
    assert.equal(project.status.state, 'running')
    const { preset, packageManager } = settings(project, 'node')
    assert.deepEqual({ preset, packageManager }, { preset: 'vite', packageManager: 'npm' })
    assert.deepEqual(project.git, { url: git.url('page.git'), branch: null })
    assert.match(project.operation!.steps.find((step) => step.id === 'detect')!.output.join('\n'), /depends on vite/)
    assert.match(project.operation!.steps.map((step) => step.title).join('\n'), /Install dependencies/)
    assert.equal((await service.get('page')).status, 200)
  })

  it('shows an edit in the browser through the hot-reload WebSocket, without a reload', {
    timeout: 60_000,
  }, async () => {
    const { url, path } = await service.client.call('getProject', { params: { id: 'page' } })
    const page = await browser.page()
    const faults: string[] = []
    page.on('pageerror', (error) => faults.push(error.message))
    const opened = page.waitForEvent('websocket')
    await page.goto(url)
    await page.locator('h1').first().waitFor()
    const socket = await opened
    assert.equal(new URL(socket.url()).host, new URL(url).host)
    await page.evaluate(() => Object.assign(window, { mark: 'not reloaded' }))

    const file = join(path, 'src', 'App.jsx')
    const source = await readFile(file, 'utf8')
    const edited = source.replace(/<h1>[^<]*<\/h1>/, '<h1>Seen through the proxy</h1>')
    assert.notEqual(edited, source)
    await saveFile(file, edited)
    await page.getByRole('heading', { name: 'Seen through the proxy' }).waitFor({ timeout: 20_000 })
    assert.equal(await page.evaluate(() => (window as { mark?: string }).mark), 'not reloaded')

    // State of the components lives on as well: that is what hot reload is for.
    const counter = page.getByRole('button', { name: /count is/i })
    await counter.click()
    await saveFile(file, edited.replace('Seen through the proxy', 'Seen again'))
    await page.getByRole('heading', { name: 'Seen again' }).waitFor({ timeout: 20_000 })
    assert.match((await counter.textContent()) ?? '', /count is:? 1/i)
    assert.deepEqual(faults, [])
    await page.close()
  })

  it('goes on with the browser’s WebSocket while the control plane is killed and started again', {
    timeout: 60_000,
  }, async () => {
    const { url, path } = await service.client.call('getProject', { params: { id: 'page' } })
    const page = await browser.page()
    const opened = page.waitForEvent('websocket')
    await page.goto(url)
    await page.locator('h1').first().waitFor()
    const socket = await opened
    await page.evaluate(() => Object.assign(window, { mark: 'not reloaded' }))
    await service.kill()
    const file = join(path, 'src', 'App.jsx')
    await saveFile(file, (await readFile(file, 'utf8')).replace('Seen again', 'Seen without a control plane'))
    await page.getByRole('heading', { name: 'Seen without a control plane' }).waitFor({ timeout: 20_000 })
    await service.start()
    assert.equal(socket.isClosed(), false)
    assert.equal(await page.evaluate(() => (window as { mark?: string }).mark), 'not reloaded')
    await page.close()
  })

  it('is cloned from a repository behind a password, which then stands nowhere in clear', {
    timeout: 60_000,
  }, async () => {
    const project = await service.client.call('createProject', {
      body: { name: 'Secretive', git: { url: git.url('private.git', credentials), branch: 'main' }, start: false },
      query: { wait: 60 },
    })
    assert.equal(project.operation?.state, 'succeeded', JSON.stringify(project.operation?.error))
    assert.deepEqual(project.git, { url: git.url('private.git'), branch: 'main' })
    assert.equal(settings(project, 'node').preset, 'vite')
    const config = await readFile(join(project.path, '.git', 'config'), 'utf8')
    assert.ok(config.includes(git.url('private.git')), config)

    const refused = await refusal(
      service.client.call('createProject', {
        body: { name: 'Wrong', git: { url: git.url('private.git', `${account.username}:another-p4ssword`) } },
      }),
    )
    assert.equal(refused.code, 'source_failed')

    const secrets = [account.username, account.password, encodeURIComponent(account.password), 'another-p4ssword']
    const told = { ...(await traces(service)), 'the answers': JSON.stringify([project, refused]) }
    for (const [where, text] of Object.entries(told))
      for (const secret of secrets) assert.ok(!text.includes(secret), `${secret} stands in ${where}`)
    assert.deepEqual(await filesThatHold(service.home, secrets), [])
  })

  it('never shows the password of its repository among the arguments of a process', { timeout: 60_000 }, async () => {
    const seen = new Set<string>()
    let isOver = false
    const watching = (async () => {
      while (!isOver) {
        for (const words of await argumentsOfGit()) seen.add(words)
        await delay(1)
      }
    })()
    await service.client.call('createProject', {
      body: { name: 'Watched', git: { url: git.url('private.git', credentials) }, start: false },
      query: { wait: 60 },
    })
    isOver = true
    await watching
    const words = [...seen].filter((one) => one.includes('private.git'))
    assert.ok(
      words.some((one) => one.includes('clone')),
      'no clone was seen',
    )
    for (const secret of [account.username, account.password, encodeURIComponent(account.password)])
      assert.deepEqual(
        words.filter((one) => one.includes(secret)),
        [],
      )
    await service.client.call('deleteProject', { params: { id: 'watched' }, query: { confirm: 'watched', wait: 60 } })
    await rm(join(service.home, 'projects', 'watched'), { recursive: true })
  })

  it('is refused in git’s own words when the repository cannot be read, and leaves no folder', async () => {
    const create = (url: string, branch?: string) =>
      refusal(
        service.client.call('createProject', {
          body: { name: 'Nothing', git: { url, ...(branch === undefined ? {} : { branch }) } },
          query: { wait: 60 },
        }),
      )
    const missing = await create(git.url('missing.git'))
    assert.equal(missing.code, 'source_failed')
    assert.match(missing.detail, /repository .*missing\.git.* not found/)
    const locked = await create(git.url('private.git'))
    assert.equal(locked.code, 'source_failed')
    assert.match(locked.detail, /could not read Username|Authentication failed/)
    const odd = await create(git.url('private.git', `${account.username}:100%`))
    assert.match(odd.detail, /Authentication failed/)
    assert.ok(!odd.detail.includes('100%') && !odd.detail.includes(account.username), odd.detail)
    const branch = await create(git.url('page.git'), 'no-such-branch')
    assert.match(branch.detail, /no branch or tag "no-such-branch"/)
    const { items } = await service.client.call('listProjects')
    assert.deepEqual(items.map((item) => item.slug).sort(), ['page', 'secretive'])
    assert.deepEqual((await readdir(join(service.home, 'projects'))).sort(), ['page', 'secretive'])
  })
})

/**
 * As editors save: whole, by renaming. A server that watches would otherwise read the file while it is empty, and miss the
 * write that follows in the same millisecond.
 */
async function saveFile(file: string, text: string): Promise<void> {
  const beside = join(dirname(dirname(file)), `.saved-${process.pid}`)
  await writeFile(beside, text)
  await rename(beside, file)
}

async function argumentsOfGit(): Promise<readonly string[]> {
  const entries = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const words = await Promise.all(entries.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')))
  return words.map((one) => one.replaceAll('\0', ' ')).filter((one) => /\bgit/.test(one))
}
