import { type ImageName, imageNames } from './images.ts'
import { clearAbandoned } from './place.ts'
import { ensureImages, missingImages } from './store.ts'

/** Beginnings of the paths of the tests that need an image. A test that is not said here builds what it lacks itself, in its own time. */
const usedBy: { readonly [name in ImageName]?: readonly string[] } = {
  debian: ['packages/testkit/test/docker-', 'packages/engines/test/docker-'],
  redis: ['packages/testkit/test/docker-', 'packages/engines/test/docker-'],
}

/** Tests of the catalogue and of whole journeys run all kinds of services. */
const usedByAll = ['packages/catalog/test/docker-', 'e2e/docker-', 'bench/']

/** The test command runs this: `prepare.ts build FILE…` before test files, `prepare.ts clear` after them. */
const [act, ...testFiles] = process.argv.slice(2)
if (act === 'clear') clearAbandoned()
else await build(imageNames.filter((name) => testFiles.some((file) => isUsed(name, file))))

function isUsed(name: ImageName, file: string): boolean {
  return [...usedByAll, ...(usedBy[name] ?? [])].some((start) => file.startsWith(start))
}

async function build(names: readonly ImageName[]): Promise<void> {
  const missing = await missingImages(names)
  if (missing.length === 0) return
  console.error(`Building ${missing.length} images for the tests (once; all of them take about 3 minutes) …`)
  await ensureImages(missing, (line) => console.error(line))
}
