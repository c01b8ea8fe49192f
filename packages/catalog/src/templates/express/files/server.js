import { join } from 'node:path'
import express from 'express'

const app = express()

app.use(express.static(join(import.meta.dirname, 'public')))

app.get('/api/hello', (request, response) => {
  response.json({ hello: request.query.name ?? 'world', time: new Date() })
})

const port = Number(process.env.PORT ?? 3000)
const server = app.listen(port, process.env.HOST ?? '127.0.0.1', (error) => {
  if (error) throw error
  console.log(`Listening on port ${port}`)
})

process.on('SIGTERM', () => {
  server.close(() => process.exit(0))
  server.closeIdleConnections()
})
