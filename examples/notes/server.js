// Notes: a JSON API over PostgreSQL, and one page that uses it.
import { join } from 'node:path'
import express from 'express'
import pg from 'pg'

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 5 })
// A connection that breaks while idle is replaced by the pool; without a listener it would end the program.
pool.on('error', (error) => console.error(`Lost a database connection: ${error.message}`))
await createTable()

const app = express()
app.use(express.json({ limit: '64kb' }))
app.use(express.static(join(import.meta.dirname, 'public')))

app.get('/api/notes', async (_request, response) => {
  const { rows } = await pool.query('SELECT id, text, done FROM note ORDER BY done, id DESC LIMIT 200')
  response.json(rows)
})

app.post('/api/notes', async (request, response) => {
  const text = String(request.body?.text ?? '').trim().slice(0, 500)
  if (text === '') return response.status(422).json({ error: 'A note needs some text.' })
  const { rows } = await pool.query('INSERT INTO note (text) VALUES ($1) RETURNING id, text, done', [text])
  response.status(201).json(rows[0])
})

app.patch('/api/notes/:id', async (request, response) => {
  const { rows } = await pool.query('UPDATE note SET done = $2 WHERE id = $1 RETURNING id, text, done', [
    idOf(request),
    request.body?.done === true,
  ])
  if (rows.length === 0) return response.status(404).json({ error: 'There is no such note.' })
  response.json(rows[0])
})

app.delete('/api/notes/:id', async (request, response) => {
  await pool.query('DELETE FROM note WHERE id = $1', [idOf(request)])
  response.sendStatus(204)
})

const port = Number(process.env.PORT ?? 3000)
const server = app.listen(port, process.env.HOST ?? '127.0.0.1', (error) => {
  if (error) throw error
  console.log(`Listening on port ${port}`)
})

process.on('SIGTERM', () => {
  server.close(() => pool.end().then(() => process.exit(0)))
  server.closeIdleConnections()
})

/** Waits while the database recovers from a crash: it listens before it answers. */
async function createTable() {
  for (let attempt = 1; ; attempt++) {
    try {
      await pool.query(
        `CREATE TABLE IF NOT EXISTS note (
           id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
           text text NOT NULL,
           done boolean NOT NULL DEFAULT false)`,
      )
      return
    } catch (error) {
      if (attempt === 60) throw error
      await new Promise((resolve) => setTimeout(resolve, 500))
    }
  }
}

function idOf(request) {
  const id = Number(request.params.id)
  return Number.isInteger(id) && id > 0 && id < 2 ** 31 ? id : 0
}
