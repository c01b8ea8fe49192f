import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { inboxPaths, inboxSecret, serviceTypes } from '@stackquay/catalog'
import { serviceSecret } from '@stackquay/domain'
import { type CallOptions, openTestApp } from './app-support.ts'
import { mail, openInbox } from './inbox-support.ts'

const catcher = serviceTypes.find((kind) => kind.inboxPort !== undefined)!

/** A project whose mail catcher runs; where it would answer stands a real server that wants its key. */
async function withInbox(t: TestContext) {
  const opened = await openTestApp(t)
  const headers = await opened.session()
  const call = (id: string, options: CallOptions = {}) =>
    opened.call(id, { ...options, params: { id: 'shop', ...options.params }, headers })
  const made = await call('createProject', { body: { name: 'Shop', [catcher.name]: {} }, query: { wait: '20' } })
  assert.equal(made.json.status.state, 'running', made.body)
  const { store } = opened.app
  const key = async () => {
    const handle = await store.secrets.find(made.json.id, serviceSecret(catcher.name, inboxSecret))
    return (await store.secrets.reveal(handle!.secret)).expose()
  }
  const inbox = await openInbox(t, key, [mail('a', 'Welcome'), mail('b', 'Invoice')])
  const { address } = opened.engine
  opened.engine.address = async (ref, port) => {
    const here = await address.call(opened.engine, ref, port)
    return here !== null && ref.workload === catcher.name && port === catcher.inboxPort ? inbox.address : here
  }
  return { ...opened, call, inbox, id: made.json.id as string }
}

test('mails are listed, searched, read, marked and deleted through the API, with the key of the catcher', async (t) => {
  const { call, inbox } = await withInbox(t)
  const all = await call('listMail')
  assert.deepEqual(
    [all.json.items.map(({ subject }: { subject: string }) => subject), all.json.total, all.json.unread],
    [['Welcome', 'Invoice'], 2, 2],
  )
  const found = await call('listMail', { query: { q: 'Inv', limit: '7' } })
  assert.equal(found.json.total, 1)
  assert.deepEqual(inbox.asked, [`GET ${inboxPaths.messages}?limit=50`, `GET ${inboxPaths.messages}?limit=7&q=Inv`])
  const message = mail('a').id
  assert.equal((await call('getMail', { params: { message } })).json.text, 'Hello')
  const marked = await call('updateMail', { params: { message }, body: { read: true } })
  assert.deepEqual([marked.status, marked.json.read, inbox.messages.get(message)?.read], [200, true, true])
  assert.equal((await call('deleteMail', { params: { message } })).status, 204)
  assert.deepEqual([...inbox.messages.keys()], [mail('b').id])
  assert.equal((await call('getMail', { params: { message } })).status, 404)
  assert.equal((await call('deleteAllMail')).status, 204)
  assert.equal(inbox.messages.size, 0)
})

test('a source and a file are handed on as downloads, whatever the sender called them', async (t) => {
  const { call } = await withInbox(t)
  const params = { message: mail('a').id }
  const source = await call('getMailSource', { params })
  assert.equal(source.body, 'Subject: Welcome\r\n\r\nHello')
  assert.match(String(source.headers['content-type']), /^message\/rfc822/)
  const file = await call('getMailAttachment', { params: { ...params, index: '0' } })
  assert.equal(file.body, 'file')
  assert.match(String(file.headers['content-type']), /^application\/octet-stream/)
  for (const { headers } of [source, file])
    assert.match(String(headers['content-disposition']), /^attachment; filename="[\w.-]+"$/)
  assert.equal((await call('getMailAttachment', { params: { ...params, index: '1' } })).status, 404)
  assert.equal((await call('getMailAttachment', { params: { ...params, index: '../0' } })).status, 400)
  assert.equal((await call('getMail', { params: { message: '../../secrets' } })).status, 400)
})

test('the HTML of a mail is a document with a policy of its own', async (t) => {
  const { call, inbox } = await withInbox(t)
  const shown = { ...mail('d'), html: '<h1>Hello</h1><link rel="preconnect" href="https://elsewhere.test">' }
  inbox.messages.set(shown.id, shown)
  const params = { message: shown.id }
  const document = await call('getMailHtml', { params })
  assert.equal(document.status, 200)
  assert.match(document.body, /<h1>Hello<\/h1><x-link rel/)
  assert.equal(document.headers['content-type'], 'text/html; charset=utf-8')
  assert.match(
    String(document.headers['content-security-policy']),
    /^sandbox [^;]*; default-src 'none'; img-src data:; /,
  )
  assert.equal(document.headers['x-frame-options'], 'SAMEORIGIN')
  const remote = await call('getMailHtml', { params, query: { images: 'remote' } })
  assert.match(String(remote.headers['content-security-policy']), /img-src data: https:; /)
  inbox.messages.set(shown.id, { ...shown, html: null })
  assert.equal((await call('getMailHtml', { params })).status, 404)
})

test('what the catcher refuses, and an answer that is no inbox, are told as such', async (t) => {
  const { call, inbox } = await withInbox(t)
  const torn = await call('listMail', { query: { cursor: 'torn' } })
  assert.deepEqual([torn.status, torn.json.detail], [400, 'The cursor is not one.'])
  inbox.messages.set('x', { ...mail('c'), id: 'not an id' })
  const strange = await call('listMail')
  assert.deepEqual([strange.status, strange.json.code], [503, 'unavailable'])
})

test('without a catcher there is no inbox; one that does not run says how to read it', async (t) => {
  const { call, app, id } = await withInbox(t)
  await call('stopProject', { query: { wait: '20' } })
  const stopped = await call('listMail')
  assert.deepEqual([stopped.status, stopped.json.code], [409, 'not_running'])
  assert.match(stopped.json.hint, /Start the project/)
  await call('updateProject', { body: { [catcher.name]: { enabled: false } }, query: { wait: '20' } })
  const none = await call('listMail')
  assert.deepEqual([none.status, none.json.code], [404, 'not_found'])
  assert.ok(none.json.hint.includes(catcher.name))
  const deleted = await call('deleteAllMail')
  assert.equal(deleted.status, 404)
  const entries = await app.store.audit.list({ limit: 10, action: 'mail.delete', project: id })
  assert.deepEqual(
    entries.filter(({ outcome }) => outcome === 'success'),
    [],
    'what did not happen is not recorded',
  )
})
