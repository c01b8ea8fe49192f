import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { inboxSecret, serviceTypes } from '@stackquay/catalog'
import { operationList } from '@stackquay/contract'
import { serviceSecret } from '@stackquay/domain'
import { waitFor } from '@stackquay/testkit'
import { codeAt, fromBase32, stepAt } from '../src/access/factors/totp.ts'
import { newDeployKey, publicHalf } from '../src/source/deploy-key.ts'
import { serveAuthority } from './acme-support.ts'
import { admin, type Called, type CallOptions, openTestApp, type TestApp } from './app-support.ts'
import { serveArchives } from './archives-support.ts'
import { makePair } from './certificates-support.ts'
import { mail, openInbox, type TestInbox } from './inbox-support.ts'
import { softwareAuthenticator } from './software-authenticator.ts'

/** These ask a real database or proxy: e2e/database-browser.test.ts and e2e/page-services.test.ts look at what they record. */
const ofRealServers: ReadonlySet<string> = new Set([
  'queryDatabase',
  'exportQuery',
  'editTableRows',
  'exportTable',
  'importTable',
  'editKey',
  'openServicePage',
  'finishOidc',
  'linkOidc',
])

const provider = { issuer: 'http://127.0.0.1:9', clientId: 'stackquay', password: admin.password }
/** Whoever calls these is nobody yet. */
const publicly: ReadonlySet<string> = new Set([
  'completeSetup',
  'login',
  'loginSecond',
  'loginWithPasskey',
  'redeemInvite',
])

/** Calls an operation so that it succeeds, whatever stands before it. */
type Drive = (call: (id: string, options?: CallOptions) => Promise<Called>) => Promise<Called>

describe('every operation that is to be recorded', () => {
  const ended: (() => unknown)[] = []
  let opened: TestApp
  let session: Record<string, string>
  let readToken: string
  let inbox: TestInbox
  let offsite: string
  let checkpoint: string
  let savedQuery: string
  let file: string

  before(async () => {
    offsite = await mkdtemp(join(tmpdir(), 'stackquay-offsite-'))
    ended.push(() => rm(offsite, { recursive: true, force: true }))
    const t = { after: (end: unknown) => ended.push(end as () => unknown) }
    opened = await openTestApp(t, { setUp: false, images: true })
    inbox = await openInbox(t, async () => {
      const project = (await opened.app.store.projects.find('shop'))!
      const handle = (await opened.app.store.secrets.find(project.id, serviceSecret(catcher.name, inboxSecret)))!
      return (await opened.app.store.secrets.reveal(handle.secret)).expose()
    })
    // The pretended mail catcher runs nothing: where it would answer stands a real server.
    const { address } = opened.engine
    opened.engine.address = async (ref, port) =>
      ref.workload === catcher.name ? inbox.address : address.call(opened.engine, ref, port)
  })
  after(async () => {
    for (const end of ended.reverse()) await end()
  })

  const again = { password: admin.password }
  /** Where passkeys of the service under test are for. */
  const here = { origin: 'http://localhost:1', host: 'localhost:1' }
  const authenticator = softwareAuthenticator()
  let recoveryCodes: readonly string[] = []
  const shop = { id: 'shop' }
  const main = { ...shop, db: 'main' }
  const addon = { ...shop, name: 'keycloak' }
  const catcher = serviceTypes.find((kind) => kind.inboxPort !== undefined)!
  const keeper = serviceTypes.find((kind) => kind.keepsData && kind.credentials !== undefined)!
  const patch = (body: object) => ({ params: shop, body, query: { wait: '10' } })
  /** The database is held while its files are copied. */
  const held = () => opened.engine.nextCommand({ output: [{ text: 'ready\n{}\n' }], exit: { code: 0 } })
  const drives: Readonly<Record<string, Drive>> = {
    completeSetup: (call) =>
      call('completeSetup', { body: { ...admin, code: opened.app.setup.value() }, headers: { cookie: '' } }),
    login: (call) => call('login', { body: admin }),
    logout: async (call) => call('logout', { headers: await opened.session() }),
    endSession: async (call) => {
      await opened.session()
      const { items } = (await call('listSessions')).json
      return call('endSession', { params: { sid: items.find((one: { current: boolean }) => !one.current).id } })
    },
    forgetDevice: async (call) => {
      const [device] = (await call('listDevices')).json.items
      return call('forgetDevice', { params: { did: device.id } })
    },
    addSshKey: (call) => call('addSshKey', { body: { publicKey: publicHalf(newDeployKey(), 'ada').publicKey } }),
    removeSshKey: async (call) => {
      const { id } = (await call('listSshKeys')).json.items[0]
      return call('removeSshKey', { params: { kid: id } })
    },
    endOtherSessions: (call) => call('endOtherSessions'),
    changePassword: async (call) => {
      await call('changePassword', { body: { current: admin.password, new: 'another good password' } })
      return call('changePassword', { body: { current: 'another good password', new: admin.password } })
    },
    createToken: (call) => call('createToken', { body: { name: 'ci' } }),
    revokeToken: async (call) => {
      const { id } = (await call('createToken', { body: { name: 'to revoke' } })).json
      return call('revokeToken', { params: { tid: id } })
    },
    createUser: (call) =>
      call('createUser', { body: { username: 'grace', role: 'operate', password: 'of the compiler' } }),
    changeUser: async (call) => call('changeUser', { params: await grace(call), body: { role: 'read' } }),
    linkUserOidc: async (call) => {
      await call('putOidc', { body: provider })
      return call('linkUserOidc', { params: await grace(call), body: { subject: 'linked', password: admin.password } })
    },
    unlinkUserOidc: async (call) => {
      const params = await grace(call)
      await call('putOidc', { body: provider })
      await call('linkUserOidc', { params, body: { subject: 'unlinked', password: admin.password } })
      return call('unlinkUserOidc', { params })
    },
    inviteUser: async (call) => call('inviteUser', { params: await grace(call) }),
    redeemInvite: async (call) => {
      const { url } = (await call('inviteUser', { params: await grace(call) })).json
      return call('redeemInvite', { params: { token: url.split('#')[1] }, body: { password: 'of the compiler' } })
    },
    deleteUser: async (call) => call('deleteUser', { params: await grace(call) }),
    putOidc: (call) => call('putOidc', { body: provider }),
    deleteOidc: async (call) => {
      await call('putOidc', { body: provider })
      return call('deleteOidc')
    },
    logoutOidc: async (call) => call('logoutOidc', { headers: await opened.session() }),
    confirmTotp: async (call) => {
      const { secret } = (await call('beginTotp', { body: again })).json
      const code = codeAt(fromBase32(secret), stepAt(Date.now()))
      const answer = await call('confirmTotp', { body: { code } })
      recoveryCodes = answer.json.recoveryCodes
      return answer
    },
    loginSecond: async (call) => {
      const { challenge } = (await call('login', { body: admin })).json
      return call('loginSecond', { body: { challenge, recoveryCode: recoveryCodes[0] } })
    },
    replaceRecoveryCodes: async (call) => {
      const answer = await call('replaceRecoveryCodes', { body: again })
      recoveryCodes = answer.json.recoveryCodes
      return answer
    },
    disableTotp: (call) => call('disableTotp', { body: { ...again, recoveryCode: recoveryCodes[1] } }),
    addPasskey: async (call) => {
      const options = (await call('beginPasskey', { body: again, headers: here })).json
      const credential = authenticator.create(options, { origin: here.origin })
      return call('addPasskey', { body: { name: 'Laptop', credential }, headers: here })
    },
    loginWithPasskey: async (call) => {
      const options = (await call('beginPasskeyLogin', { headers: here })).json
      const passkey = authenticator.get(options, { origin: here.origin })
      return call('loginWithPasskey', { body: { passkey }, headers: here })
    },
    removePasskey: async (call) => {
      const { passkeys } = (await call('getSecondFactor')).json
      return call('removePasskey', { params: { kid: passkeys[0].id }, body: again })
    },
    resetSecondFactor: async (call) => {
      const [{ id }] = (await call('listUsers')).json.items
      return call('resetSecondFactor', { params: { uid: id }, body: again })
    },
    revealSecretKey: (call) => call('revealSecretKey', { body: { password: admin.password } }),
    putTlsCertificate: (call) => ownCertificate(call),
    deleteTlsCertificate: async (call) =>
      call('deleteTlsCertificate', { params: { certificate: (await ownCertificate(call)).json.id } }),
    updateSettings: (call) => call('updateSettings', { body: { settings: { trashDays: 9 } } }),
    replaceSecretKey: (call) => call('replaceSecretKey', { body: { password: admin.password } }),
    exportAudit: (call) => call('exportAudit'),
    createWebhook: (call) =>
      call('createWebhook', { body: { name: 'ci', url: 'http://127.0.0.1:9/', events: ['run.changed'] } }),
    updateWebhook: async (call) =>
      call('updateWebhook', { params: await hook(call), body: { events: ['project.status'] } }),
    rotateWebhookSecret: async (call) => call('rotateWebhookSecret', { params: await hook(call) }),
    testWebhook: async (call) => call('testWebhook', { params: await hook(call) }),
    redeliver: async (call) => {
      const { hook: id } = await hook(call)
      const { items } = (await call('listDeliveries', { params: { hook: id } })).json
      return call('redeliver', { params: { hook: id, delivery: items[0].id } })
    },
    deleteWebhook: async (call) => call('deleteWebhook', { params: await hook(call) }),
    putAcme: async (call) => {
      const authority = await serveAuthority()
      ended.push(() => authority[Symbol.asyncDispose]())
      const { directory, roots } = authority
      const dns = { provider: 'cloudflare', settings: { token: 'sesame' } }
      const body = { directory, roots, termsAgreed: true, challenge: 'dns-01', dns, names: ['shop.example.org'] }
      return call('putAcme', { body })
    },
    renewAcme: (call) => call('renewAcme'),
    deleteAcme: (call) => call('deleteAcme'),
    createNotificationChannel: (call) =>
      call('createNotificationChannel', {
        body: { name: 'team', kind: 'slack', settings: { url: 'http://127.0.0.1:9/' } },
      }),
    updateNotificationChannel: async (call) =>
      call('updateNotificationChannel', { params: await channel(call), body: { cooldownMinutes: 5 } }),
    testNotificationChannel: async (call) => call('testNotificationChannel', { params: await channel(call) }),
    deleteNotificationChannel: async (call) => call('deleteNotificationChannel', { params: await channel(call) }),
    createProject: (call) => call('createProject', { body: { name: 'Shop' }, query: { wait: '10' } }),
    createFromManifest: (call) =>
      call('createFromManifest', { body: { manifest: 'version: 1\nname: Blog\n' }, query: { wait: '10' } }),
    updateProject: (call) =>
      call('updateProject', { params: shop, body: { env: { GREETING: { value: 'hello' } } }, query: { wait: '10' } }),
    renameProject: (call) =>
      call('renameProject', { params: { id: 'blog' }, body: { slug: 'journal' }, query: { wait: '10' } }),
    duplicateProject: (call) =>
      call('duplicateProject', { params: shop, body: { name: 'Copy' }, query: { wait: '10' } }),
    createDatabase: (call) =>
      call('createDatabase', { params: shop, body: { name: 'main', type: 'postgresql' }, query: { wait: '10' } }),
    startProject: (call) => call('startProject', { params: shop, query: { wait: '10' } }),
    updateDatabase: (call) =>
      call('updateDatabase', {
        params: { ...shop, db: 'main' },
        body: { exposePort: true },
        query: { wait: '10' },
      }),
    rotateDatabaseCredentials: (call) =>
      call('rotateDatabaseCredentials', { params: { ...shop, db: 'main' }, query: { wait: '10' } }),
    exportDatabase: (call) => {
      opened.engine.nextCommand({ output: [{ text: 'SELECT 1;' }], exit: { code: 0 } })
      return call('exportDatabase', { params: { ...shop, db: 'main' } })
    },
    importDatabase: (call) => {
      // It is looked into when it is asked for and before it begins; then the dump is loaded.
      for (const text of ['{"isEmpty":true}', '{"isEmpty":true}', ''])
        opened.engine.nextCommand({ output: [{ text }], exit: { code: 0 } })
      const headers = { 'content-type': 'application/sql' }
      return call('importDatabase', {
        params: { ...shop, db: 'main' },
        body: 'SELECT 1;',
        headers,
        query: { wait: '10' },
      })
    },
    createSavedQuery: async (call) => {
      const made = await call('createSavedQuery', { params: shop, body: { name: 'All', sql: 'SELECT 1' } })
      savedQuery = (JSON.parse(made.body) as { id: string }).id
      return made
    },
    updateSavedQuery: (call) =>
      call('updateSavedQuery', { params: { ...shop, query: savedQuery }, body: { sql: 'SELECT 2' } }),
    deleteSavedQuery: (call) => call('deleteSavedQuery', { params: { ...shop, query: savedQuery } }),
    createCheckpoint: async (call) => {
      const made = await call('createCheckpoint', { params: shop, body: { name: 'first' }, query: { wait: '10' } })
      checkpoint = (JSON.parse(made.body) as { id: string }).id
      return made
    },
    restoreCheckpoint: (call) =>
      call('restoreCheckpoint', {
        params: { ...shop, checkpoint },
        body: { confirm: 'shop' },
        headers: { 'if-match': '*' },
        query: { wait: '10' },
      }),
    deleteCheckpoint: (call) => call('deleteCheckpoint', { params: { ...shop, checkpoint } }),
    createSnapshot: (call) => {
      held()
      return call('createSnapshot', { params: main, body: { name: 'first' }, query: { wait: '10' } })
    },
    restoreSnapshot: (call) =>
      call('restoreSnapshot', {
        params: { ...main, snapshot: 'first' },
        body: { confirm: 'main' },
        headers: { 'if-match': '*' },
        query: { wait: '10' },
      }),
    resetDatabase: (call) =>
      call('resetDatabase', {
        params: main,
        body: { confirm: 'main' },
        headers: { 'if-match': '*' },
        query: { wait: '10' },
      }),
    deleteSnapshot: (call) => call('deleteSnapshot', { params: { ...main, snapshot: 'first' } }),
    cloneDatabase: (call) => {
      held()
      return call('cloneDatabase', { params: main, body: { name: 'twin' }, query: { wait: '10' } })
    },
    restoreDatabaseTo: async (call) => {
      serveArchives(opened.engine)
      await call('updateDatabase', { params: main, body: { pointInTime: {} }, query: { wait: '10' } })
      await waitFor('a base', async () => (await call('getPointInTime', { params: main })).json.state === 'ready')
      const body = { to: new Date().toISOString(), name: 'then' }
      return call('restoreDatabaseTo', { params: main, body, query: { wait: '10' } })
    },
    pullProject: async (call) => {
      const answering = createServer((_request, response) => void response.writeHead(204).end()).listen(0, '127.0.0.1')
      await once(answering, 'listening')
      ended.push(() => answering.close())
      const { port } = answering.address() as AddressInfo
      const source = { project: 'shop', token: 'OTHER', databases: { main: { database: 'main' } } }
      const other = { from: `http://127.0.0.1:${port}`, ...source }
      await call('updateProject', patch({ env: { OTHER: { value: 'token', secret: true } }, pull: { other } }))
      return call('pullProject', {
        params: shop,
        body: { source: 'other', confirm: 'shop' },
        headers: { 'if-match': '*' },
        query: { wait: '10' },
      })
    },
    getServiceCredentials: async (call) => {
      await call('updateProject', patch({ [keeper.name]: { enabled: true } }))
      return call('getServiceCredentials', { params: { ...shop, service: keeper.name } })
    },
    rotateServiceCredentials: (call) =>
      call('rotateServiceCredentials', { params: { ...shop, service: keeper.name }, query: { wait: '10' } }),
    deleteKeptData: async (call) => {
      await call('updateProject', patch({ [keeper.name]: { enabled: false } }))
      return call('deleteKeptData', { params: { ...shop, kind: keeper.name }, query: { wait: '10' } })
    },
    addAddon: async (call) => {
      const example = await readFile(new URL('../../../examples/addons/keycloak.yml', import.meta.url), 'utf8')
      const yaml = `${example}native: {programs: [keycloak], argv: [start-dev]}\n`
      const found = { directory: '/fake/bin', program: '/fake/bin/keycloak', version: '26.4.1', bundled: true }
      opened.engine.toolchainsFound = [
        ...opened.engine.toolchainsFound,
        { name: 'addon-keycloak', available: true, reason: null, ...found },
      ]
      return call('addAddon', { body: { yaml } })
    },
    setProjectAddon: (call) => call('setProjectAddon', { params: addon, body: {}, query: { wait: '10' } }),
    getAddonCredentials: (call) => call('getAddonCredentials', { params: addon }),
    rotateAddonCredentials: (call) => call('rotateAddonCredentials', { params: addon, query: { wait: '10' } }),
    disableProjectAddon: (call) => call('disableProjectAddon', { params: addon, query: { wait: '10' } }),
    deleteAddon: async (call) => {
      await call('deleteKeptData', { params: { ...shop, kind: 'keycloak' }, query: { purge: 'true', wait: '10' } })
      return call('deleteAddon', { params: { name: 'keycloak' } })
    },
    createFolder: (call) => call('createFolder', { params: shop, body: { path: 'notes' } }),
    writeFile: (call) =>
      call('writeFile', {
        params: shop,
        query: { path: 'notes/today.txt' },
        body: 'sesame',
        headers: { 'content-type': 'application/octet-stream', 'if-none-match': '*' },
      }),
    readFile: (call) => call('readFile', { params: shop, query: { path: 'notes/today.txt' } }),
    renameFile: (call) =>
      call('renameFile', { params: shop, body: { from: 'notes/today.txt', to: 'notes/yesterday.txt' } }),
    archiveFolder: (call) => call('archiveFolder', { params: shop, query: { path: 'notes' } }),
    deleteFile: async (call) => {
      const deleted = await call('deleteFile', { params: shop, query: { path: 'notes' } })
      file = deleted.json.id
      return deleted
    },
    restoreFile: (call) => call('restoreFile', { params: shop, body: { item: file } }),
    updateMail: async (call) => {
      await call('updateProject', patch({ [catcher.name]: { enabled: true } }))
      return call('updateMail', { params: { ...shop, message: mail('1').id }, body: { read: true } })
    },
    deleteMail: (call) => call('deleteMail', { params: { ...shop, message: mail('1').id } }),
    deleteAllMail: (call) => call('deleteAllMail', { params: shop }),
    createShare: async (call) => {
      await call('createProject', { body: { name: 'Shown', node: {}, start: false }, query: { wait: '10' } })
      return call('createShare', { params: { id: 'shown' }, body: { password: 'sesame street' } })
    },
    endShare: (call) => call('endShare', { params: { id: 'shown' } }),
    getDatabaseCredentials: (call) => call('getDatabaseCredentials', { params: { ...shop, db: 'main' } }),
    sleepProject: (call) => call('sleepProject', { params: shop, query: { wait: '10' } }),
    restartProject: (call) => call('restartProject', { params: shop, query: { wait: '10' } }),
    useImage: async (call) => {
      const body = { name: 'Boxed', engine: 'docker', databases: { main: { type: 'postgresql' } } }
      await call('createProject', { body, query: { wait: '10' } })
      return call('useImage', {
        params: { id: 'boxed' },
        body: { workload: 'postgresql-main', use: 'latest' },
        query: { wait: '10' },
      })
    },
    deleteOrphan: async (call) => {
      opened.engine.machine.data.set('prj_gone/postgresql-main', 4096)
      return call('deleteOrphan', { params: { orphan: 'prj_gone' }, query: { data: 'delete' } })
    },
    restoreTrash: async (call) => {
      await call('createProject', { body: { name: 'Back', static: {}, start: false }, query: { wait: '10' } })
      await call('deleteProject', { params: { id: 'back' }, query: { confirm: 'back', wait: '10' } })
      const [item] = await opened.app.store.trash.all()
      return call('restoreTrash', { params: { item: item!.id } })
    },
    purgeTrash: async (call) => {
      await call('deleteProject', { params: { id: 'back' }, query: { confirm: 'back', wait: '10' } })
      const [item] = await opened.app.store.trash.all()
      return call('purgeTrash', { params: { item: item!.id }, query: { confirm: 'back' } })
    },
    stopProject: (call) => call('stopProject', { params: shop, query: { wait: '10' } }),
    putProjectEnv: (call) =>
      call('putProjectEnv', {
        params: { ...shop, name: 'KEY' },
        body: { value: 'sesame', secret: true },
        query: { wait: '10' },
      }),
    getProjectEnvValue: (call) =>
      call('getProjectEnvValue', { params: { ...shop, name: 'KEY' }, query: { reveal: 'true' } }),
    deleteProjectEnv: (call) => call('deleteProjectEnv', { params: { ...shop, name: 'KEY' }, query: { wait: '10' } }),
    deleteDatabase: (call) =>
      call('deleteDatabase', { params: { ...shop, db: 'main' }, query: { confirm: 'main', wait: '10' } }),
    applyManifest: (call) =>
      call('applyManifest', {
        params: shop,
        body: { manifest: 'version: 1\nname: Shop\nenv:\n  A: b\n' },
        query: { wait: '10' },
      }),
    runAction: async (call) => {
      await runner(call)
      opened.engine.nextCommand({ exit: { code: 0 } })
      return call('runAction', { params: { id: 'runner', action: 'node.hello' }, query: { wait: '10' } })
    },
    runTests: async (call) => {
      const { suites } = (await call('listTests', { params: { id: 'runner' } })).json
      opened.engine.nextCommand({ exit: { code: 0 } })
      return call('runTests', { params: { id: 'runner', suite: suites[0].id }, query: { wait: '10' } })
    },
    putWorker: (call) =>
      call('putWorker', { params: { id: 'runner', name: 'queue' }, body: { command: 'true', enabled: false } }),
    deleteWorker: (call) => call('deleteWorker', { params: { id: 'runner', name: 'queue' }, query: { wait: '10' } }),
    putCronJob: (call) =>
      call('putCronJob', {
        params: { id: 'runner', name: 'nightly' },
        body: { command: 'true', schedule: '0 3 * * *' },
        query: { wait: '10' },
      }),
    runCronJob: (call) => call('runCronJob', { params: { id: 'runner', name: 'nightly' } }),
    deleteCronJob: (call) =>
      call('deleteCronJob', { params: { id: 'runner', name: 'nightly' }, query: { wait: '10' } }),
    cancelRun: async (call) => {
      const { id } = (await call('runAction', { params: { id: 'runner', action: 'node.hello' } })).json
      return call('cancelRun', { params: { id: 'runner', run: id }, query: { wait: '10' } })
    },
    applySettings: async (call) => {
      await leaveNotApplied(call, 'c')
      return call('applySettings', { params: { id: 'still' }, query: { wait: '10' } })
    },
    revertSettings: async (call) => {
      await leaveNotApplied(call, 'd')
      return call('revertSettings', { params: { id: 'still' }, query: { wait: '10' } })
    },
    addDomain: (call) => call('addDomain', { params: { id: 'runner' }, body: { host: 'runner.example.org' } }),
    removeDomain: (call) => call('removeDomain', { params: { id: 'runner', host: 'runner.example.org' } }),
    putProxyRules: (call) =>
      call('putProxyRules', {
        params: { id: 'runner' },
        body: { basicAuth: { username: 'guest', password: 'sesame street' } },
      }),
    createTerminal: (call) => call('createTerminal', { params: shop }),
    endTerminal: async (call) => {
      const { id } = (await call('createTerminal', { params: shop })).json
      return call('endTerminal', { params: { ...shop, term: id } })
    },
    execCommand: (call) => {
      opened.engine.nextCommand({ exit: { code: 0 } })
      return call('execCommand', { params: shop, body: { argv: ['env', 'PASSWORD=sesame'] } })
    },
    createBackup: (call) => call('createBackup', { params: shop, query: { wait: '10' } }),
    downloadBackup: async (call) => call('downloadBackup', { params: { ...shop, backup: await backup(call) } }),
    downloadAnyBackup: async (call) => call('downloadAnyBackup', { params: { backup: await backup(call) } }),
    verifyBackup: async (call) =>
      call('verifyBackup', { params: { ...shop, backup: await backup(call, ['files']) }, query: { wait: '10' } }),
    restoreBackup: async (call) =>
      call('restoreBackup', {
        params: { ...shop, backup: await backup(call) },
        body: { confirm: 'shop', parts: ['files'] },
        headers: { 'if-match': '*' },
        query: { wait: '10' },
      }),
    restoreBackupAs: async (call) =>
      call('restoreBackupAs', {
        params: { backup: await backup(call) },
        body: { name: 'Once more' },
        query: { wait: '10' },
      }),
    putBackupSchedule: (call) => call('putBackupSchedule', { params: shop, body: { cron: '30 2 29 2 *' } }),
    deleteBackupSchedule: (call) => call('deleteBackupSchedule', { params: shop }),
    deleteBackup: async (call) => call('deleteBackup', { params: { ...shop, backup: await backup(call) } }),
    deleteAnyBackup: async (call) => call('deleteAnyBackup', { params: { backup: await backup(call) } }),
    uploadBackup: async (call) => {
      const id = await backup(call)
      const url = `/api/v1/backups/${id}/download`
      const { rawPayload } = await opened.app.http.inject({ url, headers: { host: 'localhost', ...session } })
      await call('deleteAnyBackup', { params: { backup: id } })
      return call('uploadBackup', { body: rawPayload, headers: { 'content-type': 'application/x-tar' } })
    },
    createInstanceBackup: (call) => call('createInstanceBackup'),
    downloadInstanceBackup: async (call) => {
      const { id } = (await call('createInstanceBackup')).json
      return call('downloadInstanceBackup', { params: { backup: id } })
    },
    deleteInstanceBackup: async (call) => {
      const { id } = (await call('createInstanceBackup')).json
      return call('deleteInstanceBackup', { params: { backup: id } })
    },
    uploadInstanceBackup: async (call) => {
      const { id } = (await call('createInstanceBackup')).json
      const url = `/api/v1/instance/backups/${id}/download`
      const { rawPayload } = await opened.app.http.inject({ url, headers: { host: 'localhost', ...session } })
      await call('deleteInstanceBackup', { params: { backup: id } })
      return call('uploadInstanceBackup', { body: rawPayload, headers: { 'content-type': 'application/x-tar' } })
    },
    restoreInstanceBackup: async (call) => {
      const { id } = (await call('createInstanceBackup')).json
      return call('restoreInstanceBackup', { params: { backup: id }, body: { confirm: id } })
    },
    createBackupTarget: (call) =>
      call('createBackupTarget', { body: { name: 'Offsite', folder: { path: offsite }, passphrase } }),
    checkBackupTarget: async (call) => call('checkBackupTarget', { params: { target: await target(call) } }),
    copyBackup: async (call) =>
      call('copyBackup', {
        params: { backup: await backup(call, ['files']) },
        body: { target: await target(call) },
        query: { wait: '60' },
      }),
    fetchBackup: async (call) => {
      const params = { target: await target(call) }
      const { items } = (await call('listTargetBackups', { params })).json
      await call('deleteAnyBackup', { params: { backup: items[0].id } })
      return call('fetchBackup', { params, body: { backup: items[0].id }, query: { wait: '60' } })
    },
    copyInstanceBackup: async (call) => {
      const { id } = (await call('createInstanceBackup')).json
      const body = { target: await target(call) }
      return call('copyInstanceBackup', { params: { backup: id }, body, query: { wait: '60' } })
    },
    fetchInstanceBackup: async (call) => {
      const params = { target: await target(call) }
      const { items } = (await call('listTargetBackups', { params })).json
      const { id } = items.find((item: { id: string }) => item.id.startsWith('ibk_'))
      await call('deleteInstanceBackup', { params: { backup: id } })
      return call('fetchInstanceBackup', { params, body: { backup: id }, query: { wait: '60' } })
    },
    deleteTargetBackup: async (call) => {
      const id = await target(call)
      const { items } = (await call('listTargetBackups', { params: { target: id } })).json
      const params = { target: id, backup: items[0].id }
      return call('deleteTargetBackup', { params, query: { confirm: items[0].id, wait: '60' } })
    },
    putInstanceBackupSchedule: (call) => call('putInstanceBackupSchedule', { body: { cron: '30 2 29 2 *' } }),
    deleteInstanceBackupSchedule: (call) => call('deleteInstanceBackupSchedule'),
    deleteBackupTarget: async (call) => call('deleteBackupTarget', { params: { target: await target(call) } }),
    putGit: async (call) => {
      await repository()
      return call('putGit', { params: shop, body: { url: 'http://127.0.0.1:9/shop.git', token: passphrase } })
    },
    createGitDeployKey: (call) => call('createGitDeployKey', { params: shop }),
    fetchGit: (call) => call('fetchGit', { params: shop, query: { wait: '30' } }),
    pullGit: (call) => call('pullGit', { params: shop, query: { wait: '30' } }),
    commitGit: (call) => call('commitGit', { params: shop, body: { message: 'One' }, query: { wait: '30' } }),
    checkoutGit: (call) =>
      call('checkoutGit', { params: shop, body: { branch: 'topic', create: true }, query: { wait: '30' } }),
    pushGit: (call) => call('pushGit', { params: shop, query: { wait: '30' } }),
    discardGit: (call) => call('discardGit', { params: shop, body: { paths: ['nothing'] }, query: { wait: '30' } }),
    putGitWebhook: (call) => call('putGitWebhook', { params: shop, body: { enabled: true } }),
    createBranch: (call) =>
      call('createBranch', {
        params: shop,
        body: { branch: 'sketch', create: true, start: false },
        query: { wait: '30' },
      }),
    deleteBranch: (call) =>
      call('deleteBranch', { params: { ...shop, branch: 'sketch' }, query: { confirm: 'sketch', wait: '30' } }),
    createDeploy: (call) => call('createDeploy', { params: shop, query: { wait: '30' } }),
    rollbackDeploy: async (call) => {
      const { id: project } = (await opened.app.store.projects.find('shop'))!
      const commit = '1'.repeat(40)
      await opened.app.store.transaction((tx) =>
        tx.deploys.insert({
          ...{ id: 'dpl_1', project, trigger: 'person', actor: 'ada', forge: null, state: 'running' },
          ...{ branch: 'topic', commit, operation: null },
        }),
      )
      return call('rollbackDeploy', { params: shop, body: { deploy: 'dpl_1' }, query: { wait: '30' } })
    },
    cancelOperation: async (call) => {
      await call('createDatabase', { params: shop, body: { name: 'slow', type: 'postgresql' }, query: { wait: '10' } })
      opened.engine.hangNext('start')
      const { id } = (await call('restartProject', { params: shop })).json
      return call('cancelOperation', { params: { op: id }, query: { wait: '10' } })
    },
    deleteProject: (call) =>
      call('deleteProject', { params: shop, query: { confirm: 'shop', data: 'delete', wait: '10' } }),
  }
  const passphrase = 'sesame street corner'
  /** In the folder of the project, as its user. */
  const repository = async (): Promise<void> => {
    const { path } = (await opened.app.store.projects.find('shop'))!
    const { uid, gid } = await stat(path)
    const as = { cwd: path, env: { PATH: process.env.PATH, HOME: '/nonexistent' }, uid, gid }
    execFileSync('git', ['init', '--quiet', '--initial-branch=main'], as)
  }
  /** The one that was made in its turn. */
  const target = async (call: Parameters<Drive>[0]): Promise<string> =>
    (await call('listBackupTargets')).json.items[0].id
  /** A new backup. */
  const backup = async (call: Parameters<Drive>[0], parts?: readonly string[]): Promise<string> => {
    const body = parts === undefined ? {} : { parts }
    const { json, body: text } = await call('createBackup', { params: shop, body, query: { wait: '10' } })
    assert.ok(json?.parts, text)
    return json.id
  }
  /** What streams record is looked at where they are followed: here there are no sockets. */
  const recorded = operationList.filter(
    ({ id, audit, stream }) => audit !== undefined && stream === undefined && !ofRealServers.has(id),
  )

  test('has its turn here', () => {
    assert.deepEqual(Object.keys(drives).sort(), recorded.map(({ id }) => id).sort())
  })

  for (const [id, drive] of Object.entries(drives)) {
    test(`${id} leaves an entry with who, what, whence and which request when it succeeds`, async () => {
      const requestId = `succeeds-${id}`
      const call = async (name: string, options: CallOptions = {}) => {
        if (session === undefined && name !== 'completeSetup') session = await opened.session()
        const marked = name === id ? { 'x-request-id': requestId } : {}
        return opened.call(name, { ...options, headers: { ...session, ...options.headers, ...marked } })
      }
      const answer = await drive(call)
      assert.ok(answer.status < 300, `${id}: ${answer.status} ${answer.body}`)
      const { audit } = recorded.find((operation) => operation.id === id)!
      const entries = await opened.app.store.audit.list({ limit: 20, q: requestId })
      const entry = entries.find(({ action, outcome }) => action === audit && outcome === 'success')
      assert.ok(entry, `${id}: ${JSON.stringify(entries)}`)
      // Whoever sets a password by a link is the person that it is for.
      assert.equal(entry.actor, id === 'redeemInvite' ? 'grace' : 'ada')
      assert.equal(entry.source, publicly.has(id) ? 'api' : 'ui')
      assert.ok(entry.ip !== null)
      assert.ok(!JSON.stringify(entry).includes('sesame'))
    })
  }

  test('each leaves an entry when it is refused', async () => {
    session = await opened.session()
    readToken = (await opened.call('createToken', { body: { name: 'reader', scope: 'read' }, headers: session })).json
      .value
    const own: Record<string, () => Promise<Called>> = {
      completeSetup: () => opened.call('completeSetup', { headers: { 'x-request-id': 'refused-completeSetup' } }),
      finishOidc: () =>
        opened.call('finishOidc', {
          body: { code: 'a', verifier: 'b' },
          headers: { 'x-request-id': 'refused-finishOidc' },
        }),
      login: () =>
        opened.call('login', {
          body: { username: 'ada', password: 'wrong' },
          headers: { 'x-request-id': 'refused-login' },
        }),
      redeemInvite: () =>
        opened.call('redeemInvite', {
          params: { token: 'none' },
          body: { password: 'long enough to be' },
          headers: { 'x-request-id': 'refused-redeemInvite' },
        }),
    }
    own.loginSecond = () =>
      opened.call('loginSecond', {
        body: { challenge: 'made up', code: '000000' },
        headers: { 'x-request-id': 'refused-loginSecond' },
      })
    own.loginWithPasskey = () =>
      opened.call('loginWithPasskey', {
        body: { passkey: { id: 'unknown', response: {} } },
        headers: { ...here, 'x-request-id': 'refused-loginWithPasskey' },
      })
    for (const { id, audit } of recorded.filter((operation) => operation.id !== 'completeSetup')) {
      const headers = { authorization: `Bearer ${readToken}`, 'x-request-id': `refused-${id}` }
      const answer = await (own[id]?.() ?? opened.call(id, { params: { ...shop, name: 'A' }, headers }))
      assert.ok((id === 'redeemInvite' ? [404] : [401, 403]).includes(answer.status), `${id}: ${answer.status}`)
      const [entry, ...more] = await opened.app.store.audit.list({ limit: 20, q: `refused-${id}` })
      assert.deepEqual(
        [entry?.action, entry?.outcome, entry?.actor, more.length],
        [audit, 'denied', publicly.has(id) ? 'anonymous' : 'ada (token: reader)', 0],
        id,
      )
    }
  })

  test('and the chain over all of that holds', async () => {
    assert.equal((await opened.app.store.audit.verify()).ok, true)
  })

  async function hook(call: Parameters<Drive>[0]): Promise<{ hook: string }> {
    return { hook: (await call('listWebhooks')).json.items[0].id }
  }

  async function channel(call: Parameters<Drive>[0]): Promise<{ channel: string }> {
    return { channel: (await call('listNotificationChannels')).json.items[0].id }
  }

  /** A change of settings that waited, and was cancelled. */
  async function leaveNotApplied(call: Parameters<Drive>[0], value: string): Promise<void> {
    const body = { name: 'Still', node: { command: ['node', 'app.js'] } }
    await call('createProject', { body, query: { wait: '10' } })
    const hang = opened.engine.hangNext('start')
    const { id: restart } = (await call('restartProject', { params: { id: 'still' } })).json
    await hang.reached
    const { operation } = (await call('updateProject', { params: { id: 'still' }, body: { env: { A: value } } })).json
    await call('cancelOperation', { params: { op: operation.id } })
    hang.release()
    await call('getOperation', { params: { op: restart }, query: { wait: '10' } })
  }

  /** A project with an action and a suite. */
  async function runner(call: Parameters<Drive>[0]): Promise<void> {
    await call('createProject', { body: { name: 'Runner', node: {}, start: false }, query: { wait: '10' } })
    const { path } = (await call('getProject', { params: { id: 'runner' } })).json
    const scripts = { hello: 'echo hello', test: 'node --test' }
    await writeFile(join(path, 'package.json'), JSON.stringify({ name: 'runner', scripts }))
    await writeFile(join(path, 'sum.test.js'), "import { test } from 'node:test'\ntest('sums', () => {})\n")
  }

  async function ownCertificate(call: Parameters<Drive>[0]): Promise<Called> {
    const { certificate, key } = await makePair({ names: ['shop.example.org'] })
    return call('putTlsCertificate', { body: { certificate, key } })
  }

  async function grace(call: Parameters<Drive>[0]): Promise<{ uid: string }> {
    const { items } = (await call('listUsers')).json
    return { uid: items.find(({ username }: { username: string }) => username === 'grace').id }
  }
})

test('a set-up that is refused is recorded with the name that was tried', async (t) => {
  const { call, app } = await openTestApp(t, { setUp: false })
  const answer = await call('completeSetup', { body: { username: 'eve', password: 'long enough', code: 'guess' } })
  assert.equal(answer.status, 403)
  const [entry] = await app.store.audit.list({ limit: 1, outcome: 'denied' })
  assert.deepEqual([entry?.action, entry?.target], ['setup.complete', 'eve'])
})

test('a secret variable that is shown to somebody is recorded by its name, and one that is not shown is not', async (t) => {
  const opened = await openTestApp(t)
  const session = await opened.session()
  await opened.call('createProject', {
    body: { name: 'Shop', env: { KEY: { value: 'sesame', secret: true }, PLAIN: 'x' } },
    query: { wait: '10' },
    headers: session,
  })
  const { value } = (await opened.call('createToken', { body: { name: 'reader', scope: 'read' }, headers: session }))
    .json
  const read = (name: string, query: Record<string, string>, headers = session) =>
    opened.call('getProjectEnvValue', { params: { id: 'shop', name }, query, headers })
  const reads = () => opened.app.store.audit.list({ limit: 10, action: 'project.env.read', outcome: 'success' })
  await opened.call('getProjectEnv', { params: { id: 'shop' }, headers: session })
  assert.equal((await read('KEY', {})).json.value, null)
  assert.equal((await read('PLAIN', { reveal: 'true' })).json.value, 'x')
  assert.equal((await read('NOPE', { reveal: 'true' })).status, 404)
  assert.equal((await read('KEY', { reveal: 'true' }, { authorization: `Bearer ${value}` })).status, 403)
  assert.equal((await reads()).length, 0)
  assert.equal((await read('KEY', { reveal: 'true' })).json.value, 'sesame')
  assert.deepEqual(
    (await reads()).map(({ actor, target }) => `${actor} ${target}`),
    ['ada shop/KEY'],
  )
})

test('a visit of the page, a change, a copy and a project file answer no secret variable', async (t) => {
  const opened = await openTestApp(t)
  const headers = await opened.session()
  const wait = { wait: '10' }
  const answers = [
    await opened.call('createProject', {
      body: { name: 'Shop', env: { KEY: { value: 'sesame-1', secret: true } } },
      query: wait,
      headers,
    }),
  ]
  const ask = async (id: string, options: object) => answers.push(await opened.call(id, { headers, ...options }))
  const shop = { id: 'shop' }
  await ask('putProjectEnv', {
    params: { ...shop, name: 'KEY' },
    body: { value: 'sesame-2', secret: true },
    query: wait,
  })
  const env = { KEY: { value: 'sesame-3', secret: true } }
  await ask('updateProject', { params: shop, body: { env }, query: { dryRun: 'true' } })
  await ask('updateProject', { params: shop, body: { env }, query: wait })
  await ask('updateProject', { params: shop, body: { env: { KEY: { runtimes: ['static'] } } }, query: wait })
  await ask('duplicateProject', { params: shop, body: { name: 'Copy' }, query: wait })
  for (const id of ['getProjectEnv', 'getProject', 'getManifest', 'listOperations']) {
    await ask(id, { params: shop })
    if (id !== 'listOperations') await ask(id, { params: { id: 'copy' } })
  }
  await ask('listProjects', {})
  await ask('listAudit', {})
  for (const { status, body } of answers) {
    assert.ok(status < 300 || status === 422, body)
    assert.ok(!body.includes('sesame'), body)
  }
  assert.deepEqual(answers.filter(({ status }) => status === 422).length, 0)
  assert.ok(!JSON.stringify(await opened.app.store.events.after(0, 1000)).includes('sesame'))
  const copied = await opened.call('getProjectEnvValue', {
    params: { id: 'copy', name: 'KEY' },
    query: { reveal: 'true' },
    headers,
  })
  assert.equal(copied.json.value, 'sesame-3')
})
