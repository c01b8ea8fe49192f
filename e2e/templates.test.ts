import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { templates } from '@stackquay/catalog'
import { refusal } from './support/refusal.ts'
import { type Service, startService, until } from './support/service.ts'
import { makeSourceRoot, type SourceRoot } from './support/source-root.ts'

describe('the templates of the gallery', () => {
  let service: Service
  let root: SourceRoot
  before(async () => {
    root = await makeSourceRoot()
    service = await startService({ roots: root.path })
  })
  after(async () => {
    await service?.close()
    await root?.remove()
  })

  for (const { name, label } of templates) {
    it(`“${label}” answers 200 on / right after its creation, or says why it cannot`, {
      timeout: 240_000,
    }, async (test) => {
      const { client } = service
      const offered = (await client.call('listRuntimes')).templates.find((template) => template.name === name)
      assert.ok(offered !== undefined)
      if (!offered.available) {
        assert.ok((offered.reason ?? '').length > 10 && (offered.install ?? '').length > 10, JSON.stringify(offered))
        const refused = await refusal(client.call('createProject', { body: { name, template: name } }))
        assert.equal(refused.code, 'unavailable_here')
        assert.ok(refused.detail.includes(offered.install!), refused.detail)
        test.diagnostic(`not available on this machine: ${offered.reason}`)
        return
      }
      const began = performance.now()
      const project = await client.call('createProject', { body: { name, template: name }, query: { wait: 200 } })
      const error = project.operation?.error
      if (error != null && isUnreachable(error)) {
        assert.match(String(error.step), /^Install /)
        test.diagnostic(`its packages cannot be fetched here: ${error.detail}`)
        return
      }
      assert.equal(project.operation?.state, 'succeeded', JSON.stringify(error))
      assert.equal(project.status.state, 'running', JSON.stringify(project.status))
      const answer = await service.get(name)
      assert.equal(answer.status, 200, answer.body.slice(0, 500))
      assert.match(String(answer.headers['content-type']), /html|json|text/)
      test.diagnostic(`${Math.round(performance.now() - began)} ms from the request to the first page`)
      const removal = await client.call('deleteProject', {
        params: { id: name },
        query: { confirm: name, data: 'delete', wait: 60 },
      })
      assert.equal(removal.state, 'succeeded', JSON.stringify(removal.error))
      await until(async () => (await service.get(name)).status === 404, 'the route to be gone')
    })
  }

  it('are not needed for a Go program with a module dependency: it is recognised, fetched, compiled, and again after an edit', {
    timeout: 240_000,
  }, async (test) => {
    const { client } = service
    const { available, reason, install } = (await client.call('listRuntimes')).runtimes.find(
      ({ name }) => name === 'go',
    )!
    if (!available) {
      assert.ok((reason ?? '').length > 10 && (install ?? '').length > 10)
      test.diagnostic(`not available on this machine: ${reason}`)
      return
    }
    const path = await root.folder('identity', goProgram)
    const project = await client.call('createProject', { body: { name: 'Identity', path }, query: { wait: 200 } })
    assert.equal(project.operation?.state, 'succeeded', JSON.stringify(project.operation?.error))
    assert.match(project.operation!.steps.map((step) => step.title).join('\n'), /go mod download/)
    assert.equal((await service.get('identity')).body, 'd15aacfd-62b6-594e-93cf-85baa5e441ec')

    await writeFile(join(path, 'main.go'), goProgram['main.go'].replace('return target', 'return "/edited"'))
    await until(
      async () => (await service.get('identity')).body === 'f36220f9-5ad6-5332-8fdf-83b6f9e5f8c2',
      'the edited program to be compiled and to answer',
      60_000,
    )
  })

  it('refuses a template that does not exist', async () => {
    const refused = await refusal(service.client.call('createProject', { body: { name: 'Odd', template: 'expres' } }))
    assert.equal(refused.status, 422)
    assert.equal(refused.errors?.[0]?.pointer, '/template')
  })
})

/** The registry of its language cannot be reached from this machine, and the last lines of the installation say so. */
function isUnreachable({ code, logTail }: { readonly code: string; readonly logTail?: unknown }): boolean {
  return code === 'job_failed' && /could not reach|could not resolve|network is unreachable/i.test(String(logTail))
}

/** Names pages by version 5 of UUIDs (RFC 9562), so the answer for a path is known. */
const goProgram = {
  'go.mod': 'module example.com/identity\n\ngo 1.19\n\nrequire github.com/google/uuid v1.6.0\n',
  'go.sum': `github.com/google/uuid v1.6.0 h1:NIvaJDMOsjHA8n1jAhLSgzrAzy1Hgr+hNrb57e+94F0=
github.com/google/uuid v1.6.0/go.mod h1:TIyPZe4MgqvfeYDBFedMoGGpEw/LqOeaOT+nhxU+yHo=
`,
  // Answers without net/http, whose hundred packages every project would compile anew: the template's program uses it.
  'main.go': `package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/google/uuid"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:"+os.Getenv("PORT"))
	if err != nil {
		panic(err)
	}
	for {
		connection, err := listener.Accept()
		if err != nil {
			panic(err)
		}
		go answer(connection)
	}
}

func answer(connection net.Conn) {
	defer connection.Close()
	reader := bufio.NewReader(connection)
	first, _ := reader.ReadString('\\n')
	for line := first; len(line) > 2; {
		line, _ = reader.ReadString('\\n')
	}
	words := strings.Fields(first)
	if len(words) != 3 {
		return
	}
	name := uuid.NewSHA1(uuid.NameSpaceURL, []byte(path(words[1])))
	fmt.Fprintf(connection, "HTTP/1.1 200 OK\\r\\nContent-Length: 36\\r\\nConnection: close\\r\\n\\r\\n%s", name)
}

func path(target string) string {
	return target
}
`,
} as const
