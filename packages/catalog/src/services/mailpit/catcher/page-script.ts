import type { InboxAddress, InboxMessage, InboxPage, InboxSummary } from '../inbox.ts'

/** Runs in the browser, as a file of its own: it imports types alone. All text of messages goes in as text, never as HTML. */
const api = '/api/messages'
const search = element('search') as HTMLInputElement
const more = element('more') as HTMLButtonElement
let shown: InboxSummary[] = []
let cursor: string | null = null
let open: string | null = null
let drawn = ''

search.addEventListener('input', () => void refresh())
more.addEventListener('click', () => void load(cursor))
element('clear').addEventListener('click', async () => {
  if (!confirm('Delete all messages?')) return
  await change(api, 'DELETE')
  close()
  await refresh()
})
setInterval(() => {
  // Who has gone on to older pages is not thrown back by a new message.
  if (!document.hidden && shown.length <= 50) void refresh()
}, 3_000)
void refresh()

async function refresh(): Promise<void> {
  await load(null)
}

async function load(from: string | null): Promise<void> {
  const query = new URLSearchParams({ limit: '50', ...(from === null ? {} : { cursor: from }) })
  if (search.value.trim() !== '') query.set('q', search.value)
  const asked = search.value
  const answer = await fetch(`${api}?${query}`).catch(() => null)
  if (!answer?.ok) {
    element('count').textContent = 'The inbox does not answer.'
    return
  }
  const page = (await answer.json()) as InboxPage
  if (asked !== search.value) return
  shown = from === null ? page.items : [...shown, ...page.items]
  cursor = page.nextCursor
  more.hidden = cursor === null
  element('count').textContent = `${page.total} messages, ${page.unread} unread`
  // Rows that say the same stay: the keyboard is on one of them.
  const drawing = JSON.stringify([shown, open])
  if (drawing === drawn) return
  drawn = drawing
  element('list').replaceChildren(...shown.map(row))
}

function row(message: InboxSummary): HTMLLIElement {
  const button = make('button', message.read ? '' : 'unread')
  button.type = 'button'
  button.setAttribute('aria-current', String(message.id === open))
  button.append(
    make('span', '', message.subject || '(no subject)'),
    make('small', '', `${person(message.from)} to ${message.to.map(person).join(', ')}`),
    make('small', '', new Date(message.receivedAt).toLocaleString()),
  )
  button.addEventListener('click', () => void show(message.id))
  const item = make('li')
  item.append(button)
  return item
}

async function show(id: string): Promise<void> {
  open = id
  const answer = await fetch(`${api}/${id}`)
  if (!answer.ok) {
    element('message').replaceChildren(make('p', '', 'The message is gone.'))
    return refresh()
  }
  const message = (await answer.json()) as InboxMessage
  if (!message.read) await change(`${api}/${id}`, 'PATCH', { read: true })
  if (open !== id) return
  element('message').replaceChildren(...parts(message))
  await refresh()
}

function parts(message: InboxMessage): HTMLElement[] {
  const facts = make('dl')
  const fact = (name: string, value: string) => {
    if (value !== '') facts.append(make('dt', '', name), make('dd', '', value))
  }
  fact('From', person(message.from))
  fact('To', message.to.map(person).join(', '))
  fact('Cc', message.cc.map(person).join(', '))
  fact('Bcc', message.bcc.map(person).join(', '))
  fact('Reply to', message.replyTo.map(person).join(', '))
  fact('Received', new Date(message.receivedAt).toLocaleString())

  const actions = make('div', 'actions')
  actions.append(link(`${api}/${message.id}/source`, 'Source'))
  for (const { index, fileName, sizeBytes } of message.attachments) {
    const name = `${fileName ?? `Attachment ${index + 1}`} (${sizeBytes} bytes)`
    actions.append(link(`${api}/${message.id}/attachments/${index}`, name))
  }
  const remove = make('button', '', 'Delete')
  remove.type = 'button'
  remove.addEventListener('click', async () => {
    await change(`${api}/${message.id}`, 'DELETE')
    close()
    await refresh()
  })
  actions.append(remove)

  const problem = message.problem ?? (message.truncated ? 'The text is cut here. The source is whole.' : null)
  return [
    make('h2', '', message.subject || '(no subject)'),
    facts,
    actions,
    ...(problem === null ? [] : [make('p', '', problem)]),
    ...(message.html === null ? [make('pre', '', message.text ?? '')] : html(message)),
  ]
}

function html(message: InboxMessage): HTMLElement[] {
  const frame = make('iframe')
  frame.title = 'Message'
  frame.setAttribute('sandbox', 'allow-popups allow-popups-to-escape-sandbox')
  frame.referrerPolicy = 'no-referrer'
  frame.src = `/messages/${message.id}/html`
  const remote = make('button', '', 'Load remote content')
  remote.type = 'button'
  remote.addEventListener('click', () => {
    frame.src = `/messages/${message.id}/html?remote=1`
    remote.remove()
  })
  const text = make('details')
  text.append(make('summary', '', 'Plain text'), make('pre', '', message.text ?? '(none)'))
  return [remote, frame, text]
}

function close(): void {
  open = null
  element('message').replaceChildren(make('p', '', 'No message is open.'))
}

function change(path: string, method: string, body?: unknown): Promise<Response> {
  const headers = { 'X-Inbox-Request': '1', 'Content-Type': 'application/json' }
  return fetch(path, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) })
}

function person(address: InboxAddress | null): string {
  if (address === null) return '(nobody)'
  return address.name === '' ? address.address : `${address.name} <${address.address}>`
}

function link(href: string, text: string): HTMLAnchorElement {
  const anchor = make('a', '', text)
  anchor.href = href
  return anchor
}

function make<Name extends keyof HTMLElementTagNameMap>(name: Name, className = '', text?: string) {
  const made = document.createElement(name)
  if (className !== '') made.className = className
  if (text !== undefined) made.textContent = text
  return made
}

function element(id: string): HTMLElement {
  const found = document.getElementById(id)
  if (found === null) throw new Error(`The page has no element "${id}".`)
  return found
}
