import { secretsOfPart } from '@stackquay/domain'
import type { Store } from '@stackquay/store'

/** What the data of a part knows, by the names that the part has for it: read where `storedAs` says, to be sealed anew elsewhere. */
export async function secretTexts(
  project: string,
  part: { readonly id: string; readonly type: string },
  storedAs: (name: string) => string,
  { secrets }: Pick<Store, 'secrets'>,
): Promise<readonly (readonly [name: string, text: string])[]> {
  const texts: (readonly [string, string])[] = []
  for (const name of secretsOfPart(part)) {
    const handle = await secrets.find(project, storedAs(name))
    if (handle !== null) texts.push([name, (await secrets.reveal(handle.secret)).expose()])
  }
  return texts
}
