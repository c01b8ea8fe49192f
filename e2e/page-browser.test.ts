import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { Client } from 'pg'
import type { Page } from 'playwright-core'
import { assertLooks } from './support/page.ts'
import { openProjectPage, type ProjectPage } from './support/project-page.ts'
import type { Service } from './support/service.ts'

const project = 'harbour'

describe('the database browser on the page', { concurrency: 1 }, () => {
  let service: Service
  let page: Page
  let errors: readonly string[]
  let dialog: ProjectPage['dialog']
  let inDialog: ProjectPage['inDialog']
  let close: ProjectPage['close'] | undefined

  before(async () => {
    ;({ service, page, errors, dialog, inDialog, close } = await openProjectPage({
      databases: { main: { type: 'postgresql' } },
      redis: { enabled: true },
    }))
    await ask(`CREATE TABLE author (id int PRIMARY KEY, name text NOT NULL);
      CREATE TABLE book (id int PRIMARY KEY, author int NOT NULL REFERENCES author (id), title text NOT NULL, price numeric(8, 2), about jsonb, cover bytea, sold timestamptz);
      CREATE TABLE visit (at timestamptz, path text);
      CREATE VIEW shelf AS SELECT id, title FROM book;
      INSERT INTO author VALUES (1, 'Ada Lovelace'), (2, 'Grace Hopper');
      INSERT INTO book SELECT n, 1 + n % 2, 'A title that is number ' || n, n + 0.95, '{"pages": 320}', '\\x0001ff', '2026-01-02 03:04:05+00' FROM generate_series(1, 450) n;
      UPDATE book SET price = NULL WHERE id % 7 = 0; INSERT INTO visit VALUES (now(), '/'); ANALYZE`)
  })
  after(() => close?.())

  const ask = async (sql: string) => {
    const credentials = await service.client.call('getDatabaseCredentials', { params: { id: project, db: 'main' } })
    const client = new Client((credentials as { url: string }).url)
    await client.connect()
    try {
      const answer = await client.query(sql)
      return (Array.isArray(answer) ? answer.at(-1) : answer).rows as Record<string, unknown>[]
    } finally {
      await client.end()
    }
  }

  it('goes through a table, filters it and follows a key', { timeout: 120_000 }, async () => {
    await page.goto(`${service.url}/projects/${project}/databases`)
    await page.getByRole('link', { name: 'Browse main' }).click()
    await page.getByRole('button', { name: 'book' }).click()
    await page.getByText('A title that is number 100', { exact: true }).waitFor()
    await assertLooks(page, 'rows of a table')
    await page.getByRole('button', { name: 'Next rows' }).click()
    await page.getByText('A title that is number 200', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Last rows' }).click()
    await page.getByText('A title that is number 450', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Rows before' }).click()
    await page.getByText('A title that is number 350', { exact: true }).waitFor()
    await page
      .getByRole('columnheader', { name: /^price/ })
      .getByRole('button')
      .click()
    await page.getByRole('cell', { name: '1.95', exact: true }).waitFor()
    await page.getByLabel('Column', { exact: true }).selectOption('title')
    await page.getByLabel('Comparison').selectOption('contains')
    await page.getByLabel('Value').fill('NUMBER 44')
    await page.getByRole('button', { name: 'Filter', exact: true }).click()
    await page.getByText('A title that is number 449', { exact: true }).waitFor()
    await page.getByText(/^11 rows in/).waitFor()
    await page.getByRole('button', { name: 'Go to the row that 1 points to' }).first().click()
    await page.getByText('Ada Lovelace').waitFor()
    await page.goto(`${service.url}/projects/${project}/databases/main/browse?table=visit`)
    await page.getByText(/no primary key/).waitFor()
    assert.equal(await page.getByRole('button', { name: 'Insert row' }).count(), 0)
  })

  it('changes, inserts and deletes rows after the statement was shown', { timeout: 120_000 }, async () => {
    await page.goto(`${service.url}/projects/${project}/databases/main/browse?table=author`)
    await page.getByRole('button', { name: 'Change row 1' }).click()
    await dialog().getByLabel('name text').fill("O'Hara")
    await dialog()
      .getByText(/SET "name" = 'O''Hara' WHERE/)
      .waitFor()
    await assertLooks(page, 'change a row')
    await inDialog('Save').click()
    await page.getByText("O'Hara").waitFor()
    await page.getByRole('button', { name: 'Insert row' }).click()
    await dialog().getByLabel('id integer').fill('3')
    await dialog().getByLabel('name text').fill('Barbara Liskov')
    await inDialog('Insert').click()
    await page.getByRole('cell', { name: 'Barbara Liskov' }).waitFor()
    await page.getByRole('button', { name: 'Delete row 3' }).click()
    await ask("UPDATE author SET name = 'changed meanwhile' WHERE id = 3")
    await inDialog('Delete').click()
    await dialog()
      .getByText(/is not what it was/)
      .waitFor()
    await page.keyboard.press('Escape')
    assert.deepEqual(await ask('SELECT name FROM author ORDER BY id'), [
      { name: "O'Hara" },
      { name: 'Grace Hopper' },
      { name: 'changed meanwhile' },
    ])
  })

  it('runs a statement, explains it, saves it, and writes only when told to', { timeout: 120_000 }, async () => {
    await page.goto(`${service.url}/projects/${project}/databases/main/browse?view=sql`)
    const editor = page.getByRole('textbox', { name: 'SQL statement' })
    const type = async (sql: string) => {
      await editor.click()
      await page.keyboard.press('Control+A')
      await page.keyboard.press('Delete')
      await page.keyboard.insertText(sql)
    }
    await type(
      'SELECT a.name, count(*) AS books\nFROM book b JOIN author a ON a.id = b.author\nGROUP BY a.name ORDER BY 2;',
    )
    await page.keyboard.press('Control+Enter')
    await page.getByText(/^SELECT · 2 rows/).waitFor()
    await assertLooks(page, 'a statement and its rows')
    await page.getByRole('button', { name: 'Explain' }).click()
    await page.getByText(/Seq Scan on book/).waitFor()
    await assertLooks(page, 'the plan of a statement')
    await page.getByRole('button', { name: 'Save…' }).click()
    await dialog().getByLabel('Name').fill('Books by author')
    await inDialog('Save').click()
    await dialog().waitFor({ state: 'detached' })
    await type('DELETE FROM visit')
    await page.getByRole('button', { name: 'Run', exact: true }).click()
    await page.getByText('The database refuses the statement').waitFor()
    await page.getByRole('switch', { name: 'May write' }).check()
    await page.getByRole('button', { name: 'Run and write' }).click()
    await page.getByText(/^DELETE · 1 row/).waitFor()
    assert.deepEqual(await ask('SELECT FROM visit'), [])
    await page.getByRole('switch', { name: 'May write' }).uncheck()
    await type('SELECT pg_sleep(60)')
    await page.getByRole('button', { name: 'Run', exact: true }).click()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Run', exact: true }).waitFor()
    await page.getByRole('button', { name: 'Saved queries…' }).click()
    await dialog()
      .getByRole('button', { name: /^Books by author/ })
      .click()
    await page.getByText('GROUP BY', { exact: true }).or(editor.getByText(/GROUP/)).first().waitFor()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.keyboard.press('Escape').then(async () => {
        await page.getByRole('button', { name: 'Run', exact: true }).click()
        await page.getByText(/^SELECT · 2 rows/).waitFor()
        await page.getByRole('button', { name: 'CSV' }).click()
      }),
    ])
    assert.equal(download.suggestedFilename(), 'main.csv')
  })

  it('shows keys and their values, and changes one', { timeout: 120_000 }, async () => {
    const { createClient } = await import('@redis/client')
    const found = await service.client.call('getServiceCredentials', { params: { id: project, service: 'redis' } })
    const redis = await createClient({ url: (found as unknown as { url: string }).url }).connect()
    for (let at = 0; at < 30; at++) await redis.set(`session:${at}`, `{"user": ${at}}`)
    await redis.hSet('basket:7', { apple: '2', pear: '1' })
    await page.goto(`${service.url}/projects/${project}/services`)
    await page.getByRole('link', { name: 'Keys of Redis' }).click()
    await page.getByLabel('Pattern').fill('basket:*')
    await page.getByRole('button', { name: 'Find' }).click()
    await page.getByRole('button', { name: /^basket:7/ }).click()
    await page.getByText('hash · 2 items · does not expire').waitFor()
    await assertLooks(page, 'a key and its value')
    await page.getByRole('button', { name: 'Change value 1' }).click()
    await dialog().getByLabel('Value').fill('5')
    await inDialog('Save').click()
    await page.getByRole('cell', { name: '5', exact: true }).waitFor()
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await inDialog('Delete').click()
    await page.getByText('No key matches.').waitFor()
    assert.deepEqual([await redis.exists('basket:7'), await redis.exists('session:3')], [0, 1])
    redis.destroy()
    assert.deepEqual(
      errors.filter((error) => !/^(412|422) /.test(error)),
      [],
    )
  })
})
