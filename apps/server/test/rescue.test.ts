import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { apiPrefix } from '@stackquay/contract'
import { WebSocket } from 'ws'
import { runRescue } from '../src/rescue/main.ts'
import { admin, openTestApp } from './app-support.ts'

const main = fileURLToPath(import.meta.resolve('@stackquay/server/main'))
const fresh = 'a password of the host'

/** The program, in this process: it holds and asks as one of its own would. */
async function rescue(home: string, args: readonly string[], typed = ''): Promise<{ code: number; said: string }> {
  let said = ''
  const say = (text: string) => {
    said += `${text}\n`
  }
  const env = { STACKQUAY_HOME: home, STACKQUAY_LISTEN: '127.0.0.1:1' }
  const stdin = (async function* () {
    yield typed
  })()
  return { code: await runRescue(args, { env, stdin, out: say, err: say }), said }
}

async function emptyHome(t: TestContext): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), 'stackquay-rescue-'))
  t.after(() => rm(home, { recursive: true, force: true }))
  return home
}

const codeIn = (said: string) => /\/welcome#([\w-]{43})\n/.exec(said)?.[1] ?? ''

test('whoever has the host ends sessions, streams and tokens of a service that runs, at once, and the audit log tells it', async (t) => {
  const { app, home, call, session } = await openTestApp(t)
  const headers = await session()
  await call('createUser', { body: { username: 'grace', role: 'read', password: fresh }, headers })
  const grace = await session('grace', fresh)
  const token = (await call('createToken', { body: { name: 'ci' }, headers })).json.value
  const listed = await rescue(home, ['users'])
  assert.equal(listed.code, 0, listed.said)
  assert.match(listed.said, /^ada +admin +active +1 +1$/m)
  assert.match(listed.said, /^grace +read +active +1 +0$/m)

  const address = (await app.http.listen({ host: '127.0.0.1', port: 0 })).replace('http', 'ws')
  const open = async (sent: Record<string, string>) => {
    const socket = new WebSocket(`${address}${apiPrefix}/events/ws`, { headers: sent })
    t.after(() => socket.terminate())
    await once(socket, 'open')
    return { closed: once(socket, 'close').then(() => performance.now()) }
  }
  const [ofAda, ofGrace] = [await open(headers), await open(grace)]
  const began = performance.now()
  assert.deepEqual(await rescue(home, ['end-sessions', 'ada']), { code: 0, said: '1 session ended.\n' })
  const seconds = ((await ofAda.closed) - began) / 1000
  t.diagnostic(`The open stream ended ${seconds.toFixed(2)} s after the command began.`)
  assert.ok(seconds < 2, `${seconds} s`)
  assert.equal((await call('getMe', { headers })).status, 401)
  assert.equal((await call('getMe', { headers: grace })).status, 200)
  assert.deepEqual(await rescue(home, ['end-sessions']), { code: 0, said: '1 session ended.\n' })
  await ofGrace.closed

  const bearer = { authorization: `Bearer ${token}` }
  assert.equal((await call('getMe', { headers: bearer })).status, 200)
  assert.deepEqual(await rescue(home, ['revoke-tokens']), { code: 0, said: '1 token revoked.\n' })
  assert.equal((await call('getMe', { headers: bearer })).status, 401)

  const entries = (await app.store.audit.list({ limit: 20 })).filter(({ actor }) => actor === 'host')
  assert.deepEqual(
    entries.map(({ action, target }) => [action, target]),
    [
      ['rescue.revoke_tokens', null],
      ['rescue.end_sessions', null],
      ['rescue.end_sessions', 'ada'],
    ],
  )
  const verified = await call('verifyAudit', { headers: await session() })
  assert.equal(verified.json.ok, true, verified.body)
})

test('a password is set anew while the service runs and while it does not, by a link or from standard input', async (t) => {
  const home = await emptyHome(t)
  const first = await openTestApp(t, { home })
  const set = await rescue(home, ['reset-password', 'ada', '--password-stdin'], `${fresh}\n`)
  assert.equal(set.code, 0, set.said)
  await first.session('ada', fresh)
  await assert.rejects(first.session('ada', admin.password))
  const user = await first.app.store.users.byName('ada')
  await first.app.store.transaction((tx) => tx.secondFactors.addTotp({ user: user!.id, secret: 'MZXW6YTBOI', step: 7 }))
  assert.match((await rescue(home, ['reset-password', 'ada'])).said, /^Whoever opens this/)
  assert.equal(await first.app.store.secondFactors.has(user!.id), true)
  const without = await rescue(home, ['reset-password', 'ada', '--without-second-factor'])
  assert.match(without.said, /^Second factors that are gone: totp\.\nWhoever opens this/)
  assert.equal(await first.app.store.secondFactors.has(user!.id), false)
  await first.app.store.transaction((tx) => tx.users.update(user!.id, { disabled: true }))
  await first.app.close()

  const disabled = await rescue(home, ['reset-password', 'ada'])
  assert.equal(disabled.code, 1)
  assert.match(disabled.said, /"ada" is disabled\. Add --enable/)
  const made = await rescue(home, ['reset-password', 'ada', '--enable'])
  assert.match(made.said, /^"ada" is enabled again\.$/m)
  const code = codeIn(made.said)
  assert.notEqual(code, '', made.said)
  // Nothing is left that keeps the service from starting, and the files are still its own alone.
  assert.equal((await stat(join(home, 'stackquay.db'))).mode & 0o777, 0o600)

  const second = await openTestApp(t, { home })
  const redeemed = await second.call('redeemInvite', { params: { token: code }, body: { password: admin.password } })
  assert.equal(redeemed.status, 204, redeemed.body)
  const headers = await second.session('ada', admin.password)
  const verified = await second.call('verifyAudit', { headers })
  assert.equal(verified.json.ok, true, verified.body)
  const actions = (await second.app.store.audit.list({ limit: 20, action: 'rescue.reset_password' })).map(
    ({ actor }) => actor,
  )
  assert.deepEqual(actions, ['host', 'host', 'host', 'host'])
  const all = JSON.stringify(await second.app.store.audit.list({ limit: 50 }))
  assert.ok(!all.includes(code) && !all.includes(fresh))
})

test('what cannot be done is told with what to do, and changes nothing', async (t) => {
  const { home, app } = await openTestApp(t)
  for (const [args, expected] of [
    [['reset-password', 'bob'], /no user "bob"\. There is ada/],
    [['end-sessions', 'bob'], /no user "bob"/],
    [['frob'], /no command "frob"[\s\S]*Usage/],
    [['reset-password'], /Whose password/],
    [['users', '--enable'], /belong to reset-password/],
    [['users', 'ada'], /takes no name/],
    [['reset-password', 'ada', 'bob'], /One user at a time/],
    [['users', '--frob'], /--frob/],
  ] as const) {
    const { code, said } = await rescue(home, args)
    assert.equal(code, 1, args.join(' '))
    assert.match(said, expected)
  }
  const short = await rescue(home, ['reset-password', 'ada', '--password-stdin'], 'short\n')
  assert.match(short.said, /password must have 10 characters/)
  assert.match((await rescue(await emptyHome(t), ['users'])).said, /no database in .*STACKQUAY_HOME/)
  assert.deepEqual(
    (await app.store.audit.list({ limit: 20 })).filter(({ actor }) => actor === 'host'),
    [],
  )
  assert.match((await rescue(home, [])).said, /^Usage/)
})

test('the socket is for its user alone, and whoever says nothing or too much neither holds nor harms the service', async (t) => {
  const home = await emptyHome(t)
  const { app, call } = await openTestApp(t, { home })
  assert.equal((await stat(join(home, 'server.sock'))).mode & 0o777, 0o600)
  const say = async (text: string) => {
    const peer = connect(join(home, 'server.sock'))
    t.after(() => peer.destroy())
    peer.on('error', () => undefined)
    peer.write(text)
    let heard = ''
    peer.setEncoding('utf8').on('data', (chunk: string) => {
      heard += chunk
    })
    await once(peer, 'close')
    return heard
  }
  assert.equal(await say('x'.repeat(40_000)), '')
  for (const text of ['no json\n', '{"command":"drop"}\n', '{"command":"end-sessions","user":7}\n'])
    assert.equal(JSON.parse(await say(text)).ok, false, text)
  const idle = connect(join(home, 'server.sock'))
  await once(idle, 'connect')
  assert.equal((await call('getHealth')).status, 200)
  const began = performance.now()
  await app.close()
  assert.ok(performance.now() - began < 5000)
})

test('the service’s own program does it', async (t) => {
  const { home } = await openTestApp(t)
  const child = spawn(process.execPath, [main, 'rescue', 'users'], {
    env: { PATH: process.env.PATH, STACKQUAY_HOME: home },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  const [code] = await once(child, 'exit')
  assert.equal(code, 0)
  assert.match(said, /^ada +admin +active/m)
})
