import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atLeast, type Benchmark } from './benchmark.ts'
import { type HelperProcess, startHelper } from './helper-process.ts'
import { makeProjects, projectCount, withService } from './instance.ts'
import { median, medianRatio, perSecond } from './numbers.ts'
import { requestsPerSecond, requireWrk } from './wrk.ts'

export const benchmark: Benchmark = {
  title: 'List of projects',
  about: `\`GET /api/v1/projects\` with ${projectCount} projects and a bearer token, against a bare Fastify
([list-reference.ts](../list-reference.ts)) that looks the token up by the same prepared statement
of node:sqlite over the same file, after the same SHA-256 (for each request; the service keeps what it found for as long as
SQLite’s \`data_version\` says that nothing was written) and sends the same body: a text that was made once, so it serialises nothing,
without the service's security headers and request id. Three more for the eye: with those headers too, from a Buffer that was made
once, and with \`JSON.stringify\` of objects in memory for each request. One process each, \`wrk -t1 -c32\`, alternating rounds; the
ratio is taken round by round.`,
  measure: async ({ quick }) => {
    requireWrk()
    const [rounds, seconds] = quick ? [2, 1] : [9, 3]
    const measured = await withService(async (service) => {
      await makeProjects(service)
      const url = `${service.url}/api/v1/projects`
      const headers = { authorization: `Bearer ${service.token}` }
      const answer = await fetch(url, { headers })
      const body = await answer.text()
      const sent = JSON.stringify(
        Object.fromEntries(
          [...answer.headers].filter(([name]) => !/^(date|connection|keep-alive|content-length)$/.test(name)),
        ),
      )
      const folder = await mkdtemp(join(tmpdir(), 'stackquay-bench-'))
      await writeFile(join(folder, 'body.json'), body)
      const helpers: HelperProcess[] = []
      try {
        for (const [how, more] of [
          ['text', sent],
          ['text', '{}'],
          ['bytes', '{}'],
          ['objects', '{}'],
        ] as const) {
          const files = [join(folder, 'body.json'), join(service.home, 'stackquay.db')]
          helpers.push(await startHelper('list-reference.ts', [...files, how, more]))
        }
        const urls = [url, ...helpers.map(({ port }) => `http://127.0.0.1:${port}/api/v1/projects`)]
        const found = urls.map((): number[] => [])
        for (let round = 0; round <= rounds; round += 1) {
          for (const [index, target] of urls.entries()) {
            const result = await requestsPerSecond(target, seconds, headers)
            // The first round only warms up.
            if (round > 0) found[index]!.push(result)
          }
        }
        return { found, bytes: Buffer.byteLength(body) }
      } finally {
        for (const helper of helpers) await helper.stop()
        await rm(folder, { recursive: true, force: true })
      }
    })
    const [ours = [], same = [], text = [], bytes = [], objects = []] = measured.found
    const row = (name: string, values: readonly number[]) => [
      name,
      perSecond(median(values)),
      `${medianRatio(ours, values).toFixed(2)} ×`,
    ]
    return {
      tables: [
        [
          [`answer of ${(measured.bytes / 1024).toFixed(1)} KB`, 'requests/s', 'Stackquay against it'],
          row('Stackquay', ours),
          row('Fastify, with the same headers', same),
          row('Fastify, text made once', text),
          row('Fastify, bytes made once', bytes),
          row('Fastify, `JSON.stringify` each time', objects),
        ],
      ],
      bars: [atLeast('Requests/s, against the reference with a text made once', medianRatio(ours, text), 0.8)],
    }
  },
}
