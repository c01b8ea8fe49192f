import type { FastifyInstance } from 'fastify'
import { referencePage } from './reference-page.ts'

/** The readable form of the OpenAPI document, rendered once, when somebody first asks. */
export function serveReference(app: FastifyInstance, openapi: () => string): void {
  let page: string | undefined
  app.get('/api/docs', (_request, reply) => {
    page ??= referencePage(JSON.parse(openapi()))
    return reply.header('content-type', 'text/html; charset=utf-8').send(page)
  })
}
