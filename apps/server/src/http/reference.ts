import type { FastifyInstance } from 'fastify'
import { pagePolicy } from './security-headers.ts'

/** The readable form of the OpenAPI document, rendered once, when somebody first asks. */
export function serveReference(app: FastifyInstance, openapi: () => Promise<string>): void {
  let page: Promise<string> | undefined
  app.get('/api/docs', async (_request, reply) => {
    page ??= render()
    return reply
      .headers({ 'content-type': 'text/html; charset=utf-8', 'content-security-policy': pagePolicy })
      .send(await page)
  })

  async function render(): Promise<string> {
    const { referencePage } = await import('./reference-page.ts')
    return referencePage(JSON.parse(await openapi()))
  }
}
