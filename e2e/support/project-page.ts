import assert from 'node:assert/strict'
import type { CallInput } from '@stackquay/contract'
import type { Locator } from 'playwright-core'
import { type OpenPage, openPage } from './page.ts'
import { type Service, startService } from './service.ts'

export interface ProjectPage extends Omit<OpenPage, 'browser'> {
  readonly service: Service
  /** The one that is open. */
  dialog(): Locator
  /** A button in it, by its whole name. */
  inDialog(name: string): Locator
  close(): Promise<void>
}

/** The page of a service of its own with one running project, `harbour`. */
export async function openProjectPage(
  settings: Omit<CallInput<'createProject'>['body'], 'name'>,
): Promise<ProjectPage> {
  const service = await startService()
  try {
    const { browser, page, errors } = await openPage(service, 20_000)
    const dialog = () => page.getByRole('dialog')
    const close = async () => {
      await browser.close()
      await service.close()
    }
    try {
      const body = { name: 'Harbour', ...settings }
      const made = await service.client.call('createProject', { body, query: { wait: 90 } })
      assert.equal(made.operation?.state, 'succeeded', JSON.stringify(made.operation?.error))
    } catch (error) {
      await browser.close()
      throw error
    }
    const inDialog = (name: string) => dialog().getByRole('button', { name, exact: true })
    return { service, page, errors, dialog, inDialog, close }
  } catch (error) {
    await service.close()
    throw error
  }
}
