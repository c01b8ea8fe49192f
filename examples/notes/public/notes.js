const form = document.querySelector('form')
const list = document.querySelector('ul')

form.addEventListener('submit', async (event) => {
  event.preventDefault()
  await call('POST', '/api/notes', { text: form.text.value })
  form.reset()
  await show()
})

await show()

async function show() {
  const notes = await call('GET', '/api/notes')
  list.replaceChildren(...notes.map(row))
}

function row(note) {
  const done = Object.assign(document.createElement('input'), { type: 'checkbox', checked: note.done })
  done.addEventListener('change', () => call('PATCH', `/api/notes/${note.id}`, { done: done.checked }).then(show))
  const label = document.createElement('label')
  label.append(done, note.text)
  const remove = Object.assign(document.createElement('button'), { textContent: 'Remove' })
  remove.addEventListener('click', () => call('DELETE', `/api/notes/${note.id}`).then(show))
  const item = document.createElement('li')
  item.append(label, remove)
  return item
}

async function call(method, path, body) {
  const response = await fetch(path, {
    method,
    headers: { 'Content-Type': 'application/json' },
    body: body && JSON.stringify(body),
  })
  return response.status === 204 ? null : response.json()
}
